import { afterEach, expect, it } from "vitest"
import { migrate } from "../schema/migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { objectMigrations } from "./object-schema.ts"
import { objectTableDefinitions } from "./object-instance-tables.ts"
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

/** The store of an object with one instance has no task queues. */
const isOfTaskQueues = (table: string) => table.startsWith("perdure_task")

/** Objects compute it (claimable-row.ts). */
const inFilesOnly = "claimable_at"

const tablesOf = (driver: NodeSqlDriver) =>
  driver
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'perdure_%' ORDER BY name`)
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !isOfTaskQueues(name))

/** Names, types and constraints of the columns, in the order of their names. */
const columnsOf = (driver: NodeSqlDriver, table: string) =>
  driver
    .prepare(`SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?) ORDER BY name`)
    .all(table)
    .filter(({ name }) => name !== inFilesOnly)
    .map((row): Record<string, unknown> => ({ ...row }))

it("an object has the newest schema, and every table that a file has but those of task queues, from the beginning or once a statement writes to it", () => {
  const file = migrated(migrations)
  const object = migrated(objectMigrations)
  expect(objectMigrations.at(-1)?.version).toBe(migrations.at(-1)?.version)
  const missing = () => tablesOf(file).filter((name) => !tablesOf(object).includes(name))
  expect(missing().length).toBeGreaterThan(5)
  for (const statement of missing().flatMap((name) => objectTableDefinitions(name))) object.exec(statement)
  expect(missing()).toEqual([])
  for (const table of tablesOf(file)) expect([table, columnsOf(object, table)]).toEqual([table, columnsOf(file, table)])
  expect(object.prepare("SELECT * FROM perdure_line").all()).toEqual(file.prepare("SELECT * FROM perdure_line").all())
})

it("an object that was made by an older version gets what a later migration adds", () => {
  const later: Migration = { version: 2, compatible: 1, statements: ["ALTER TABLE perdure_instance ADD COLUMN mood TEXT"] }
  const older = migrated(objectMigrations)
  migrate(older, [...objectMigrations, later])
  expect(columnsOf(older, "perdure_instance")).toEqual(columnsOf(migrated([...objectMigrations, later]), "perdure_instance"))
  expect(older.prepare("SELECT version, compatible FROM perdure_meta").all()).toEqual([{ version: 2, compatible: 1 }])
})

it("a name that is not ours has no definition", () => {
  expect(objectTableDefinitions("note")).toEqual([])
})
