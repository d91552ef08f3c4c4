import { DatabaseSync } from "node:sqlite"
import { sqliteFailure } from "../../stores/sqlite/driver/sqlite-failure.ts"

/** Whether a SQLite file has our tables. Reads only: to open a store on somebody else's file would put our tables into it. */
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
