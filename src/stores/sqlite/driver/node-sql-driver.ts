import { DatabaseSync, type StatementSync } from "node:sqlite"
import type { SqlChanges, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../../../ports/sql-driver.ts"
import type { PerdureError } from "../../../core/errors.ts"
import { storeClosedError } from "../../shared/store-error.ts"
import { FileWatch } from "../file/file-watch.ts"
import { counterQuery } from "../file/raw-file.ts"
import { WalPreallocation } from "./wal-preallocation.ts"
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
  readonly #logRoom: WalPreallocation | undefined
  #closed = false
  #isInTransaction = false
  #refusal: PerdureError | undefined
  #fileWatch: FileWatch | undefined
  #onGone: (error: PerdureError) => void = () => undefined
  /** The file is deleted, replaced or overwritten: nothing is let through any more. */
  #gone: PerdureError | undefined

  /** `settings` are run before anything else. */
  constructor(path: string, settings: string, readOnly = false) {
    this.path = path
    this.#logRoom = readOnly || path === ":memory:" ? undefined : new WalPreallocation(path)
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
      () => this.#refuseGone(),
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

  /**
   * From now on the driver notices that its file is deleted, replaced or overwritten: at every commit, when it is asked for its version, and by
   * `inspectFile`. The tables are there.
   */
  watchFile(onGone: (error: PerdureError) => void): void {
    const bytes = this.prepare("SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size")
    const counter = this.prepare(counterQuery)
    this.#fileWatch = new FileWatch(this.path, {
      bytes: () => Number(bytes.get()?.["bytes"]),
      counter: () => Number(counter.get()?.["seq"] ?? 0),
    })
    this.#onGone = onGone
  }

  /** Looks into the file, which costs too much for every commit. Throws if the file is gone. */
  inspectFile(): void {
    this.#stopIf(this.#fileWatch?.inspect())
  }

  get isGone(): boolean {
    return this.#gone !== undefined
  }

  /** Whoever is told that a transaction is committed can rely on it that the file had its name after the commit. */
  transaction<T>(fn: () => T): T {
    this.#begin.run()
    this.#isInTransaction = true
    let result: T
    try {
      result = fn()
      this.#commit.run()
    } catch (error) {
      this.#abort()
      throw error
    } finally {
      this.#isInTransaction = false
    }
    this.#checkFile()
    this.#logRoom?.committed()
    return result
  }

  /** See `LockedDatabase`. Inside a transaction code has run already, which must not run again unasked: no refusal is noted there. */
  takeRefusal(): PerdureError | undefined {
    const refusal = this.#refusal
    this.#refusal = undefined
    return refusal
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
    this.#checkFile()
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

  #checkFile(): void {
    if (this.#fileWatch === undefined) return
    this.#refuseGone()
    this.#stopIf(this.#fileWatch.look())
  }

  #stopIf(gone: PerdureError | undefined): void {
    if (gone === undefined || this.#gone) return
    this.#gone = gone
    this.#onGone(gone)
    throw gone
  }

  #refuseGone(): void {
    if (this.#gone) throw this.#gone
  }

  /** SQLite itself has rolled back already after some failures, a full disk among them: then there is nothing left to roll back. */
  #abort(): void {
    try {
      // Not through the statement: where the file is gone, that one is refused, and the lock must not stay.
      this.#database.exec("ROLLBACK")
    } catch {
      // The failure that led here is the one to tell.
    }
  }

  #attempt<T>(fn: () => T): T {
    this.#refuseGone()
    try {
      return fn()
    } catch (error) {
      throw this.#failure(error)
    }
  }

  #failure(error: unknown): Error {
    if (this.#closed) return storeClosedError()
    const failure = sqliteFailure(this.path, error)
    if (failure.code === "DATABASE_BUSY" && !this.#isInTransaction) this.#refusal = failure
    return failure
  }
}

class NodeSqlStatement implements SqlStatement {
  readonly #statement: StatementSync
  readonly #failure: (error: unknown) => Error
  /** Throws where no statement may run any more. */
  readonly #check: () => void

  constructor(statement: StatementSync, failure: (error: unknown) => Error, check: () => void) {
    this.#statement = statement
    this.#failure = failure
    this.#check = check
  }

  run(...values: SqlValue[]): SqlChanges {
    this.#check()
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
    this.#check()
    try {
      return this.#statement.get(...values)
    } catch (error) {
      throw this.#failure(error)
    }
  }

  all(...values: SqlValue[]): SqlRow[] {
    this.#check()
    try {
      return this.#statement.all(...values)
    } catch (error) {
      throw this.#failure(error)
    }
  }
}
