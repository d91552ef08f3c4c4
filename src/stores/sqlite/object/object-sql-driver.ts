import { PerdureError } from "../../../core/errors.ts"
import type { SqlChanges, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../../../ports/sql-driver.ts"
import { storeClosedError } from "../../shared/store-error.ts"
import { tableCreatedBy, ObjectReadCache, shapeOf } from "./object-read-cache.ts"
import { firstTables } from "./object-schema.ts"
import { objectSqlFailure } from "./object-sql-failure.ts"
import type { ObjectSqlCursor, ObjectSqlInput, ObjectSqlOutput, ObjectStorage } from "./object-storage.ts"

/**
 * The database of a Durable Object as a driver. The object's storage gathers all writes before the next await into one write, and sends nothing out of
 * the object until this write is durable.
 *
 * The storage caches statements by their text, so preparing a statement costs nothing here. The storage refuses `BEGIN`, `SAVEPOINT` and
 * similar statements, so a user's statement cannot end a transaction. Other ways to roll back break the storage; statement-rules.ts refuses them.
 */
export class ObjectSqlDriver implements SqlDriver {
  readonly #storage: ObjectStorage
  readonly #shared: SharedState
  readonly #definitionOf: (name: string) => readonly string[]
  readonly #createsTables: boolean
  readonly isSmall = true
  #ownWrites = 0
  #closed = false

  /** `definitionOf`: the statements that create a table of ours that a statement names and that does not exist. */
  constructor(storage: ObjectStorage, definitionOf?: (name: string) => readonly string[]) {
    this.#storage = storage
    this.#createsTables = definitionOf !== undefined
    this.#definitionOf = definitionOf ?? (() => [])
    this.#shared = sharedStateOf(storage)
  }

  prepare(sql: string): SqlStatement {
    this.#requireOpen()
    return new ObjectSqlStatement(sql, this)
  }

  prepareReader(sql: string): (...values: SqlValue[]) => SqlValue[][] {
    this.#requireOpen()
    return (...values) => {
      const rows = this.execute(sql, values).raw().toArray()
      return rows.map((row) => row.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value)))
    }
  }

  exec(sql: string): void {
    this.execute(sql, [])
  }

  /** Runs all statements in one call, because a call of the storage costs more than most of these statements. */
  createTables(statements: readonly string[]): void {
    this.#requireOpen()
    try {
      this.#transact(() => this.#storage.sql.exec(statements.join(";\n")))
    } catch (error) {
      throw objectSqlFailure(error)
    }
    this.#afterDefinition(statements)
  }

  hasTable(name: string): boolean {
    return this.#shared.cache.hasTable(name, this.#readTableNames)
  }

  get cache(): ObjectReadCache {
    return this.#shared.cache
  }

  transaction<T>(fn: () => T): T {
    this.#requireOpen()
    return this.#afterCommit(this.#transact(fn))
  }

  /** Without a transaction: the storage gathers all writes before the next await anyway. */
  singleWrite<T>(fn: () => T): T {
    this.#requireOpen()
    return this.#afterCommit(fn())
  }

  #afterCommit<T>(result: T): T {
    this.#ownWrites++
    this.#shared.count++
    for (const tell of this.#shared.listeners) tell(this)
    return result
  }

  within<T>(fn: () => T): T {
    return fn()
  }

  isOutside(): boolean {
    return false
  }

  version(): unknown {
    return this.#shared.count - this.#ownWrites
  }

  /** Calls `listener` when another driver of the same object has written. Returns the function that unsubscribes it. */
  onOtherWrites(listener: () => void): () => void {
    const tell = (writer: ObjectSqlDriver) => {
      if (writer !== this) listener()
    }
    this.#shared.listeners.add(tell)
    return () => this.#shared.listeners.delete(tell)
  }

  /** Whether this driver belongs to the object's worker. The first driver that asks does, until it is closed. */
  isWorker(): boolean {
    this.#shared.worker ??= this
    return this.#shared.worker === this
  }

  close(): void {
    this.#closed = true
    if (this.#shared.worker === this) this.#shared.worker = undefined
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Analyses the statement only now, because an object runs few of the statements that it prepares. */
  execute(sql: string, values: readonly SqlValue[]): ObjectSqlCursor {
    this.#requireOpen()
    const shape = shapeOf(sql)
    if (shape.reads !== "" && this.#isKnownEmpty(shape.reads)) return emptyCursor
    if (shape.writes !== "") this.#createIfMissing(shape.writes)
    const bindings = values.some((value) => typeof value === "bigint") ? values.map(toInput) : (values as ObjectSqlInput[])
    try {
      const cursor = this.#storage.sql.exec(sql, ...bindings)
      this.#shared.cache.afterStatement(shape, cursor.rowsWritten)
      return cursor
    } catch (error) {
      const name = /^no such table: (perdure_\w+)/.exec(error instanceof Error ? error.message : "")?.[1] ?? ""
      const statements = this.#definitionOf(name)
      if (statements.length === 0) throw objectSqlFailure(error)
      this.createTables(statements)
      return this.execute(sql, values)
    }
  }

  /** Whether the table has no rows. A table that does not exist has none, unless its definition inserts rows. */
  #isKnownEmpty(table: string): boolean {
    const { cache } = this.#shared
    if (cache.neverHadRows(table)) return true
    return this.#createsTables && !cache.hasTable(table, this.#readTableNames) && (firstTables.has(table) || this.#definitionOf(table).length === 1)
  }

  #createIfMissing(table: string): void {
    if (!this.#createsTables || this.#shared.cache.hasTable(table, this.#readTableNames)) return
    const statements = this.#definitionOf(table)
    if (statements.length === 0) return
    try {
      this.createTables(statements)
    } catch (error) {
      // Code that does not use this driver may have created the table.
      this.#shared.cache.clear()
      if (!this.hasTable(table)) throw error
    }
  }

  #afterDefinition(statements: readonly string[]): void {
    const { cache } = this.#shared
    for (const statement of statements) {
      const table = tableCreatedBy(statement)
      if (table === undefined) cache.afterStatement({ ...shapeOf(statement), isDefinition: false }, 1)
      else cache.tableCreated(table)
    }
  }

  readonly #readTableNames = (): Iterable<string> =>
    this.#storage.sql
      .exec(tableNames)
      .raw()
      .toArray()
      .map(([name]) => name as string)

  #transact<T>(fn: () => T): T {
    try {
      return this.#storage.transactionSync(fn)
    } catch (error) {
      this.#shared.cache.clear()
      throw error
    }
  }

  #requireOpen(): void {
    if (this.#closed) throw storeClosedError()
  }
}

class ObjectSqlStatement implements SqlStatement {
  readonly #sql: string
  readonly #driver: ObjectSqlDriver

  constructor(sql: string, driver: ObjectSqlDriver) {
    this.#sql = sql
    this.#driver = driver
  }

  /** The result queries its numbers when they are read, so read them before the next statement. */
  run(...values: SqlValue[]): SqlChanges {
    const { isInsertOfOne } = shapeOf(this.#sql)
    const { rowsWritten } = this.#driver.execute(this.#sql, values)
    const ask = (sql: string) => this.#ask(sql)
    return {
      get changes() {
        if (rowsWritten === 0) return 0
        return isInsertOfOne && rowsWritten > 1 ? 1 : ask(changes)
      },
      get lastInsertRowid() {
        return ask("SELECT last_insert_rowid()")
      },
    }
  }

  /** A single written row may be the row in which SQLite stores the last AUTOINCREMENT number, even if the statement inserted nothing. */
  write(...values: SqlValue[]): boolean {
    const { rowsWritten } = this.#driver.execute(this.#sql, values)
    return rowsWritten === 1 ? this.#ask(changes) > 0 : rowsWritten > 0
  }

  #ask(sql: string): number {
    return Number(this.#driver.execute(sql, []).raw().toArray()[0]?.[0])
  }

  /** Reads all rows, because an open cursor keeps the storage from using the statement again. */
  get(...values: SqlValue[]): SqlRow | undefined {
    return this.all(...values)[0]
  }

  all(...values: SqlValue[]): SqlRow[] {
    return this.#driver.execute(this.#sql, values).toArray().map(toRow)
  }
}

const changes = "SELECT changes()"

/** Shared by all drivers of one object. An object rarely has more than one. */
interface SharedState {
  count: number
  worker: ObjectSqlDriver | undefined
  readonly cache: ObjectReadCache
  readonly listeners: Set<(writer: ObjectSqlDriver) => void>
}

const sharedStates = new WeakMap<ObjectStorage, SharedState>()

/** Call this when the object's storage was deleted. */
export function clearReadCache(storage: ObjectStorage): void {
  sharedStateOf(storage).cache.clear()
}

function sharedStateOf(storage: ObjectStorage): SharedState {
  const known = sharedStates.get(storage)
  if (known) return known
  const writers: SharedState = { count: 0, worker: undefined, cache: new ObjectReadCache(), listeners: new Set() }
  sharedStates.set(storage, writers)
  return writers
}

const emptyCursor: ObjectSqlCursor = { toArray: () => [], raw: () => ({ toArray: () => [] }), rowsWritten: 0 }

const tableNames = `SELECT name FROM sqlite_master WHERE type = 'table'`

function toInput(value: SqlValue): ObjectSqlInput {
  if (typeof value !== "bigint") return value
  if (BigInt.asIntN(54, value) !== value) {
    throw new PerdureError("SQL_REFUSED", `the database of an object takes whole numbers up to 2^53, not ${value}; bind the value as text`)
  }
  return Number(value)
}

/** Converts bytes in place: no other code has the row yet, and most rows have no bytes. */
function toRow(row: Record<string, ObjectSqlOutput | Uint8Array>): SqlRow {
  for (const column in row) {
    const value = row[column]
    if (value instanceof ArrayBuffer) row[column] = new Uint8Array(value)
  }
  return row as SqlRow
}
