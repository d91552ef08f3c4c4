import { afterEach, expect, it } from "vitest"
import { migrate } from "../schema/migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { objectMigrations } from "./object-schema.ts"
import { objectParts } from "./object-multi-schema.ts"
import { type Migration, migrations } from "../schema/schema.ts"

const open: NodeSqlDriver[] = []
afterEach(() => {
  for (const driver of open.splice(0)) driver.close()
})

function migrated(steps: readonly Migration[]): NodeSqlDriver {
  const driver = new NodeSqlDriver(":memory:", "")
  open.push(driver)
  migrate(driver, steps)
  return driver
}

/** Objects work it out (claimable-row.ts), and look at all rows anyway. */
const inFilesOnly = "claimable_at"

const namesOf = (driver: NodeSqlDriver, type: string) =>
  driver
    .prepare(
      `SELECT name FROM sqlite_master WHERE type = ? AND name LIKE 'perdure_%' AND (type = 'table' OR ifnull(sql, '') NOT LIKE '%${inFilesOnly}%') ORDER BY name`,
    )
    .all(type)
    .map(({ name }) => String(name))

/** Names, types and what else is told of the columns, whatever their order. */
const columnsOf = (driver: NodeSqlDriver, table: string) =>
  driver
    .prepare(`SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?) ORDER BY name`)
    .all(table)
    .filter(({ name }) => name !== inFilesOnly)
    .map((row): Record<string, unknown> => ({ ...row }))

it("an object has the newest schema, and every table and index that a file has, from the beginning or when it is asked for", () => {
  const file = migrated(migrations)
  const object = migrated(objectMigrations)
  expect(objectMigrations.at(-1)?.version).toBe(migrations.at(-1)?.version)
  const missing = (type: string) => namesOf(file, type).filter((name) => !namesOf(object, type).includes(name))
  expect(missing("table").length).toBeGreaterThan(5)
  for (const name of [...missing("table"), ...missing("index")]) for (const statement of objectParts(name)) object.exec(statement)
  expect(missing("table")).toEqual([])
  expect(missing("index")).toEqual([])
  for (const table of namesOf(file, "table")) expect([table, columnsOf(object, table)]).toEqual([table, columnsOf(file, table)])
  const text = (driver: NodeSqlDriver) =>
    driver.prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT LIKE '%${inFilesOnly}%' ORDER BY name`).all()
  expect(text(object)).toEqual(text(file))
  expect(object.prepare("SELECT * FROM perdure_line").all()).toEqual(file.prepare("SELECT * FROM perdure_line").all())
})

it("an object that was made by an older version gets what a later migration adds", () => {
  const later: Migration = { version: 2, compatible: 1, statements: ["ALTER TABLE perdure_instance ADD COLUMN mood TEXT"] }
  const older = migrated(objectMigrations)
  migrate(older, [...objectMigrations, later])
  expect(columnsOf(older, "perdure_instance")).toEqual(columnsOf(migrated([...objectMigrations, later]), "perdure_instance"))
  expect(older.prepare("SELECT version, compatible FROM perdure_meta").all()).toEqual([{ version: 2, compatible: 1 }])
})

it("there is nothing to make for a name that is not ours", () => {
  expect(objectParts("note")).toEqual([])
})
