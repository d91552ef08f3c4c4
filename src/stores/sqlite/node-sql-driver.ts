import { DatabaseSync, type StatementSync } from "node:sqlite"
import type { SqlChanges, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../../ports/sql-driver.ts"
import { closedStore } from "../closed-store.ts"
import { LogRoom } from "./log-room.ts"
import { sqliteFailure } from "./sqlite-failure.ts"

/** `node:sqlite` as a driver. Everything that it throws has gone through `sqliteFailure`. */
export class NodeSqlDriver implements SqlDriver {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #begin: SqlStatement
  readonly #commit: SqlStatement
  readonly #rollback: SqlStatement
  readonly #savepoint: SqlStatement
  readonly #release: SqlStatement
  readonly #version: SqlStatement
  readonly #logRoom: LogRoom | undefined
  #closed = false

  /** `settings` are run before anything else. */
  constructor(path: string, settings: string, readOnly = false) {
    this.path = path
    this.#logRoom = readOnly || path === ":memory:" ? undefined : new LogRoom(path)
    try {
      this.#database = new DatabaseSync(path, { readOnly })
    } catch (error) {
      throw sqliteFailure(path, error)
    }
    try {
      this.exec(settings)
      // A writer takes its place in the queue at once; one that begins by reading can lose it to another process half-way.
      this.#begin = this.prepare("BEGIN IMMEDIATE")
      this.#commit = this.prepare("COMMIT")
      this.#rollback = this.prepare("ROLLBACK")
      this.#savepoint = this.prepare("SAVEPOINT perdure_part")
      this.#release = this.prepare("RELEASE perdure_part")
      this.#version = this.prepare("PRAGMA data_version")
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  prepare(sql: string): SqlStatement {
    return new NodeSqlStatement(
      this.#attempt(() => this.#database.prepare(sql)),
      (error) => this.#failure(error),
    )
  }

  prepareReader(sql: string): (...values: SqlValue[]) => SqlValue[][] {
    const statement = this.#attempt(() => this.#database.prepare(sql))
    // Not in every Node that we run on.
    const hasArrays = typeof statement.setReturnArrays === "function"
    if (hasArrays) statement.setReturnArrays(true)
    return (...values) => {
      const rows = this.#attempt(() => statement.all(...values)) as unknown[]
      return hasArrays ? (rows as SqlValue[][]) : rows.map((row) => Object.values(row as SqlRow))
    }
  }

  exec(sql: string): void {
    this.#attempt(() => this.#database.exec(sql))
  }

  transaction<T>(fn: () => T): T {
    this.#begin.run()
    let result: T
    try {
      result = fn()
      this.#commit.run()
    } catch (error) {
      this.#abort()
      throw error
    }
    this.#logRoom?.committed()
    return result
  }

  /** What fails in `fn` fails the transaction as a whole: there is nothing to roll back to. */
  within<T>(fn: () => T): T {
    this.#savepoint.run()
    const result = fn()
    this.#release.run()
    return result
  }

  /** That a transaction cannot be begun inside another is what tells. */
  isOutside(): boolean {
    try {
      this.exec("BEGIN")
    } catch {
      return false
    }
    this.#rollback.run()
    return true
  }

  version(): unknown {
    return this.#version.get()?.["data_version"]
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#database.close()
  }

  get closed(): boolean {
    return this.#closed
  }

  /** SQLite itself has rolled back already after some failures, a full disk among them: then there is nothing left to roll back. */
  #abort(): void {
    try {
      this.#rollback.run()
    } catch {
      // The failure that led here is the one to tell.
    }
  }

  #attempt<T>(fn: () => T): T {
    try {
      return fn()
    } catch (error) {
      throw this.#failure(error)
    }
  }

  #failure(error: unknown): Error {
    return this.#closed ? closedStore() : sqliteFailure(this.path, error)
  }
}

class NodeSqlStatement implements SqlStatement {
  readonly #statement: StatementSync
  readonly #failure: (error: unknown) => Error

  constructor(statement: StatementSync, failure: (error: unknown) => Error) {
    this.#statement = statement
    this.#failure = failure
  }

  run(...values: SqlValue[]): SqlChanges {
    try {
      return this.#statement.run(...values) as SqlChanges
    } catch (error) {
      throw this.#failure(error)
    }
  }

  write(...values: SqlValue[]): boolean {
    return this.run(...values).changes > 0
  }

  get(...values: SqlValue[]): SqlRow | undefined {
    try {
      return this.#statement.get(...values)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  all(...values: SqlValue[]): SqlRow[] {
    try {
      return this.#statement.all(...values)
    } catch (error) {
      throw this.#failure(error)
    }
  }
}
