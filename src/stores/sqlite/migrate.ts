import { PerdureError } from "../../core/errors.ts"
import type { SqlDriver } from "../../ports/sql-driver.ts"
import { type Migration, migrations } from "./schema.ts"

/**
 * Brings a database to the newest schema this code knows. The version lives in a table of ours, not in `user_version`: that
 * one belongs to the user whose tables may be in the same file, and a Durable Object does not have it.
 * A newer database is used as it is while it says that code of our age may.
 */
export function migrate(driver: SqlDriver, steps: readonly Migration[] = migrations): void {
  const newest = steps.at(-1)?.version ?? 0
  const before = versionOf(driver)
  refuseTooNew(before, newest)
  if (before.version >= newest) return
  driver.transaction(() => {
    // Another process may have been first.
    const { version } = versionOf(driver)
    if (version === 0) driver.exec(`CREATE TABLE IF NOT EXISTS perdure_meta (version INTEGER NOT NULL, compatible INTEGER NOT NULL) STRICT`)
    for (const step of steps) {
      if (step.version <= version) continue
      for (const statement of step.statements) driver.exec(statement)
      driver.exec(`DELETE FROM perdure_meta`)
      driver.prepare(`INSERT INTO perdure_meta (version, compatible) VALUES (?, ?)`).run(step.version, step.compatible)
    }
  })
}

/** The schema of a database as it is; version 0: it has none of ours. */
export interface SchemaVersion {
  readonly version: number
  readonly compatible: number
}

export function versionOf(driver: SqlDriver): SchemaVersion {
  const table = driver.prepare(`SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = 'perdure_meta'`).get()
  if (table === undefined) return { version: 0, compatible: 0 }
  const row = driver.prepare(`SELECT version, compatible FROM perdure_meta`).get()
  return { version: Number(row?.["version"] ?? 0), compatible: Number(row?.["compatible"] ?? 0) }
}

function refuseTooNew(database: SchemaVersion, newest: number): void {
  if (database.compatible <= newest) return
  throw new PerdureError(
    "DATABASE_TOO_NEW",
    `the database has schema version ${database.version}, but this version of perdure knows versions up to ${newest}; upgrade perdure to open it`,
    { details: { databaseVersion: database.version, knownVersion: newest } },
  )
}
