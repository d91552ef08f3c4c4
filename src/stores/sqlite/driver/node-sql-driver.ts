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
  readonly #walPreallocation: WalPreallocation | undefined
  #closed = false
  #isInTransaction = false
  #refusal: PerdureError | undefined
  #fileWatch: FileWatch | undefined
  #onGone: (error: PerdureError) => void = () => undefined
  /** Set once the file was deleted, replaced or overwritten: every call fails with this error from then on. */
  #gone: PerdureError | undefined

  /** `settings` are SQL statements that run first. */
  constructor(path: string, settings: string, readOnly = false) {
    this.path = path
    this.#walPreallocation = readOnly || path === ":memory:" ? undefined : new WalPreallocation(path)
    try {
      this.#database = new DatabaseSync(path, { readOnly })
    } catch (error) {
      throw sqliteFailure(path, error)
    }
    try {
      this.exec(settings)
      // IMMEDIATE takes the write lock at once. A transaction that begins with a read can fail at its first write, if another process has written meanwhile.
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
    // Older versions of Node that we support lack it.
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
   * From now on the driver notices when its file is deleted, replaced or overwritten: with every commit, every `version` and every
   * `inspectFile`. The tables must exist already.
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

  /** Inspects the content of the file, which is too slow for every commit. Throws if the file is gone. */
  inspectFile(): void {
    this.#stopIf(this.#fileWatch?.inspect())
  }

  get isGone(): boolean {
    return this.#gone !== undefined
  }

  /** When this method returns, the transaction is committed, and after the commit the file still had its name. */
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
    this.#walPreallocation?.committed()
    return result
  }

  /** See `LockedDatabase`. Inside a transaction no refusal is noted, because code that has run there must not run a second time. */
  takeRefusal(): PerdureError | undefined {
    const refusal = this.#refusal
    this.#refusal = undefined
    return refusal
  }

  /** An error of `fn` fails the whole transaction, so this method never rolls back to the savepoint. */
  within<T>(fn: () => T): T {
    this.#savepoint.run()
    const result = fn()
    this.#release.run()
    return result
  }

  /** BEGIN fails inside a transaction. */
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

  /** After some failures, such as a full disk, SQLite has rolled back by itself, and ROLLBACK fails. */
  #abort(): void {
    try {
      // Not by the prepared statement: it is refused once the file is gone, and the lock must be released even then.
      this.#database.exec("ROLLBACK")
    } catch {
      // The caller throws the first failure.
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
  /** Throws if no statement may run any more. */
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
