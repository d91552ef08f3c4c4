import { PerdureError } from "../../../core/errors.ts"
import type { SqlDriver } from "../../../ports/sql-driver.ts"
import { getOrRead } from "../object/object-read-cache.ts"
import type { Migration } from "./schema.ts"

/** The table with the schema version. Databases of index shards and limit keys have version tables of their own. */
const versionTable = "perdure_meta"

/**
 * Brings a database to the newest schema that this code knows. The version is in a table of ours, not in `user_version`: the user whose
 * tables may be in the same file may use `user_version`, and a Durable Object has none.
 * A newer database is used as it is if it says that code of this version may use it.
 */
export function migrate(driver: SqlDriver, migrations: readonly Migration[], table = versionTable): void {
  const newest = migrations.at(-1)
  if (newest === undefined || !isOlder(driver, table, newest.version)) return
  if (driver.createTables) {
    driver.createTables(statementsFor(driver, migrations, table))
    return driver.cache?.set(table, table, { version: newest.version, compatible: newest.compatible })
  }
  driver.transaction(() => {
    // Another process may have migrated the database since the look before the transaction.
    if (!isOlder(driver, table, newest.version)) return
    for (const statement of statementsFor(driver, migrations, table)) driver.exec(statement)
  })
}

/** Whether the database lacks migrations that this code has. Throws if the database is too new for this code. */
function isOlder(driver: SqlDriver, table: string, newest: number): boolean {
  const database = versionOf(driver, table)
  refuseTooNew(database, newest)
  return database.version < newest
}

function statementsFor(driver: SqlDriver, migrations: readonly Migration[], table: string): readonly string[] {
  const { version } = versionOf(driver, table)
  const newest = migrations.at(-1)
  return [
    ...(version === 0 ? [`CREATE TABLE IF NOT EXISTS ${table} (version INTEGER NOT NULL, compatible INTEGER NOT NULL) STRICT`] : [`DELETE FROM ${table}`]),
    ...migrations.filter((migration) => migration.version > version).flatMap(({ statements }) => statements),
    `INSERT INTO ${table} (version, compatible) VALUES (${newest?.version ?? 0}, ${newest?.compatible ?? 0})`,
  ]
}

/** The schema version of a database. Version 0: the database has none of our tables. */
export interface SchemaVersion {
  readonly version: number
  readonly compatible: number
}

export function versionOf(driver: SqlDriver, table = versionTable): SchemaVersion {
  if (!isThere(driver, table)) return { version: 0, compatible: 0 }
  return getOrRead(driver, table, table, () => {
    const row = driver.prepare(`SELECT version, compatible FROM ${table}`).get()
    return { version: Number(row?.["version"] ?? 0), compatible: Number(row?.["compatible"] ?? 0) }
  })
}

function isThere(driver: SqlDriver, table: string): boolean {
  if (driver.hasTable) return driver.hasTable(table)
  return driver.prepare(`SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = '${table}'`).get() !== undefined
}

function refuseTooNew(database: SchemaVersion, newest: number): void {
  if (database.compatible <= newest) return
  throw new PerdureError(
    "DATABASE_TOO_NEW",
    `the database has schema version ${database.version}, but this version of perdure knows versions up to ${newest}; upgrade perdure to open it`,
    { details: { databaseVersion: database.version, knownVersion: newest } },
  )
}
