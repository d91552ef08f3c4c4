import { existsSync, realpathSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { sqliteFailure } from "../driver/sqlite-failure.ts"

/**
 * At most one worker per database file. It holds an exclusive transaction on a small SQLite file beside it, for life: the
 * operating system ends it the moment the process dies, however it dies, and no clock is involved. Nobody ever waits for it.
 * Nothing is written to that file. (Do not open it by other means in the same process: closing it would drop the lock.)
 */
export class WorkerLock {
  readonly #database: DatabaseSync

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Undefined: somebody else has it, in another process or in this one. */
  static take(databasePath: string): WorkerLock | undefined {
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

  /** Whether a worker is alive. Looks only: whoever wants to become one in this very moment tries again a little later. */
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
