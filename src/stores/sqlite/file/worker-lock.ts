import { existsSync, realpathSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { sqliteFailure } from "../driver/sqlite-failure.ts"

/**
 * Ensures that a database file has one worker at most. The worker keeps an exclusive transaction open on a small SQLite file beside the database.
 * The operating system ends the transaction when the process dies, however it dies, so no clock is involved. No process waits for the lock,
 * and no data is written to that file. Do not open the file by other means in the same process: closing it would drop the lock.
 */
export class WorkerLock {
  readonly #database: DatabaseSync

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Undefined if another store has the lock, in another process or in this one. */
  static tryAcquire(databasePath: string): WorkerLock | undefined {
    const path = `${databasePath}-worker`
    let database: DatabaseSync | undefined
    try {
      database = new DatabaseSync(path)
      database.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE")
      return new WorkerLock(database)
    } catch (error) {
      database?.close()
      const failure = sqliteFailure(path, error)
      if (failure.code === "DATABASE_BUSY") return undefined
      throw failure
    }
  }

  /** Whether a worker is alive. A store that tries to take the lock during this check fails, and tries again a little later. */
  static isHeld(databasePath: string): boolean {
    const path = `${realpathSync(databasePath)}-worker`
    if (!existsSync(path)) return false
    let database: DatabaseSync | undefined
    try {
      database = new DatabaseSync(path, { readOnly: true, timeout: 0 })
      database.prepare("SELECT count(*) FROM sqlite_master").get()
      return false
    } catch (error) {
      const failure = sqliteFailure(path, error)
      if (failure.code === "DATABASE_BUSY") return true
      throw failure
    } finally {
      database?.close()
    }
  }

  release(): void {
    this.#database.close()
  }
}
