import { DatabaseSync } from "node:sqlite"
import { sqliteFailure } from "../../stores/sqlite/driver/sqlite-failure.ts"

/** Whether a SQLite file has the tables of Perdure. It only reads, because opening a store would create the tables in a foreign file. */
export function isDatabaseOfOurs(path: string): boolean {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
    return database.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'perdure_meta'`).get() !== undefined
  } catch (error) {
    throw sqliteFailure(path, error)
  } finally {
    database?.close()
  }
}
