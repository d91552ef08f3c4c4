import { renameSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { migrate } from "../../src/stores/sqlite/schema/migrate.ts"
import { NodeSqlDriver } from "../../src/stores/sqlite/driver/node-sql-driver.ts"
import { migrations } from "../../src/stores/sqlite/schema/schema.ts"

/** Puts a database of an older schema in the place of one, with all that it has room for. Nobody may have it open. */
export function toSchema(version: number, path: string): void {
  const older = `${path}.older`
  const driver = new NodeSqlDriver(older, "")
  migrate(
    driver,
    migrations.filter((step) => step.version <= version),
  )
  driver.close()
  const database = new DatabaseSync(older)
  database.exec(`ATTACH '${path}' AS newer`)
  const tables = database.prepare(`SELECT name FROM main.sqlite_master WHERE type = 'table' AND name LIKE 'perdure_%' AND name <> 'perdure_meta'`).all()
  for (const { name } of tables) {
    // Columns that are computed are not among these.
    const columns = database.prepare(`SELECT name FROM pragma_table_info(?)`).all(name as string)
    const list = columns.map((column) => String(column["name"])).join(", ")
    database.exec(`INSERT OR REPLACE INTO main.${String(name)} (${list}) SELECT ${list} FROM newer.${String(name)}`)
  }
  database.close()
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true })
  renameSync(older, path)
}
