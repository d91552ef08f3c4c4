import { PerdureError } from "../../../core/errors.ts"
import type { SqlDriver } from "../../../ports/sql-driver.ts"
import { getOrRead } from "../object/object-read-cache.ts"
import type { Migration } from "./schema.ts"

/** Databases of other kinds have tables, and numbers, of their own. */
const versionTable = "perdure_meta"

/**
 * Brings a database to the newest schema this code knows. The version lives in a table of ours, not in `user_version`: that
 * one belongs to the user whose tables may be in the same file, and a Durable Object does not have it.
 * A newer database is used as it is while it says that code of our age may.
 */
export function migrate(driver: SqlDriver, steps: readonly Migration[], table = versionTable): void {
  const newest = steps.at(-1)?.version ?? 0
  const before = versionOf(driver, table)
  refuseTooNew(before, newest)
  if (before.version >= newest) return
  const compatible = steps.at(-1)?.compatible ?? 0
  const statementsFrom = (version: number) => [
    ...(version === 0 ? [`CREATE TABLE IF NOT EXISTS ${table} (version INTEGER NOT NULL, compatible INTEGER NOT NULL) STRICT`] : [`DELETE FROM ${table}`]),
    ...steps.filter((step) => step.version > version && !(version === 0 && step.isInFirst)).flatMap((step) => step.statements),
    `INSERT INTO ${table} (version, compatible) VALUES (${newest}, ${compatible})`,
  ]
  if (driver.createTables) {
    driver.createTables(statementsFrom(before.version))
    return driver.cache?.set(table, table, { version: newest, compatible })
  }
  driver.transaction(() => {
    // Another process may have been first.
    for (const statement of statementsFrom(versionOf(driver, table).version)) driver.exec(statement)
  })
}

/** The schema of a database as it is; version 0: it has none of ours. */
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
