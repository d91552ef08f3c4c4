import { PerdureError } from "../../../core/errors.ts"
import type { SqlChanges, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../../../ports/sql-driver.ts"
import { storeClosedError } from "../../shared/store-error.ts"
import { madeBy, ObjectReadCache, shapeOf } from "./object-read-cache.ts"
import { firstTables } from "./object-schema.ts"
import { objectSqlFailure } from "./object-sql-failure.ts"
import type { ObjectSqlCursor, ObjectSqlInput, ObjectSqlOutput, ObjectStorage } from "./object-storage.ts"

/**
 * A Durable Object's own database as a driver. What it writes together is one write of the object: the object's storage gathers all
 * that is written before the next await, and lets nothing leave the object until that is durable.
 *
 * Statements are kept by the object itself, by their text; to prepare one costs nothing here. `BEGIN`, `SAVEPOINT` and the like are
 * refused by the object, so a user cannot end a transaction by them; what else would roll it back breaks the object (statement-rules.ts).
 */
export class ObjectSqlDriver implements SqlDriver {
  readonly #storage: ObjectStorage
  readonly #writers: Writers
  readonly #parts: (name: string) => readonly string[]
  readonly #makes: boolean
  readonly isSmall = true
  #own = 0
  #closed = false

  /** `parts`: what makes a table or an index of ours that a statement names and that is not there. */
  constructor(storage: ObjectStorage, parts?: (name: string) => readonly string[]) {
    this.#storage = storage
    this.#makes = parts !== undefined
    this.#parts = parts ?? (() => [])
    this.#writers = writersOf(storage)
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

  /** At once: a call of the object costs more than most of what makes a table. */
  make(statements: readonly string[]): void {
    this.#requireOpen()
    try {
      this.#transact(() => this.#storage.sql.exec(statements.join(";\n")))
    } catch (error) {
      throw objectSqlFailure(error)
    }
    this.#made(statements)
  }

  hasTable(name: string): boolean {
    return this.#writers.memory.has(name, this.#look)
  }

  recall<T>(key: string, table: string, read: () => T): T {
    return this.#writers.memory.recall(key, table, read)
  }

  transaction<T>(fn: () => T): T {
    this.#requireOpen()
    return this.#told(this.#transact(fn))
  }

  /** The object gathers what is written before the next await anyway. */
  single<T>(fn: () => T): T {
    this.#requireOpen()
    return this.#told(fn())
  }

  #told<T>(result: T): T {
    this.#own++
    this.#writers.count++
    for (const tell of this.#writers.listeners) tell(this)
    return result
  }

  within<T>(fn: () => T): T {
    return fn()
  }

  isOutside(): boolean {
    return false
  }

  version(): unknown {
    return this.#writers.count - this.#own
  }

  /** Calls back when another driver of the same object has written. Returns the way to stop. */
  onOtherWrites(listener: () => void): () => void {
    const tell = (writer: ObjectSqlDriver) => {
      if (writer !== this) listener()
    }
    this.#writers.listeners.add(tell)
    return () => this.#writers.listeners.delete(tell)
  }

  /** Whether this one is the driver that works; the first that asks is, until it is closed. */
  isWorker(): boolean {
    this.#writers.worker ??= this
    return this.#writers.worker === this
  }

  close(): void {
    this.#closed = true
    if (this.#writers.worker === this) this.#writers.worker = undefined
  }

  get closed(): boolean {
    return this.#closed
  }

  /** What kind of statement it is, is looked at only here: an object runs few of those that are prepared for it. */
  execute(sql: string, values: readonly SqlValue[]): ObjectSqlCursor {
    this.#requireOpen()
    const shape = shapeOf(sql)
    if (shape.reads !== "" && this.#hasNone(shape.reads)) return noRows
    if (shape.writes !== "") this.#require(shape.writes)
    const bindings = values.some((value) => typeof value === "bigint") ? values.map(toInput) : (values as ObjectSqlInput[])
    try {
      const cursor = this.#storage.sql.exec(sql, ...bindings)
      this.#writers.memory.ran(shape, cursor.rowsWritten)
      return cursor
    } catch (error) {
      const name = /^no such (?:table|index): (perdure_\w+)/.exec(error instanceof Error ? error.message : "")?.[1] ?? ""
      const statements = this.#parts(name)
      if (statements.length === 0) throw objectSqlFailure(error)
      this.make(statements)
      return this.execute(sql, values)
    }
  }

  /** What is only read need not be there for that, unless it begins with something in it. */
  #hasNone(table: string): boolean {
    const { memory } = this.#writers
    if (memory.isEmpty(table)) return true
    return this.#makes && !memory.has(table, this.#look) && (firstTables.has(table) || this.#parts(table).length === 1)
  }

  #require(table: string): void {
    if (!this.#makes || this.#writers.memory.has(table, this.#look)) return
    const statements = this.#parts(table)
    if (statements.length === 0) return
    try {
      this.make(statements)
    } catch (error) {
      // Somebody has made it who does not know of us.
      this.#writers.memory.forget()
      if (!this.hasTable(table)) throw error
    }
  }

  #made(statements: readonly string[]): void {
    const { memory } = this.#writers
    for (const statement of statements) {
      const table = madeBy(statement)
      if (table === undefined) memory.ran({ ...shapeOf(statement), isDefinition: false }, 1)
      else memory.made(table)
    }
  }

  readonly #look = (): Iterable<string> =>
    this.#storage.sql
      .exec(tablesThere)
      .raw()
      .toArray()
      .map(([name]) => name as string)

  #transact<T>(fn: () => T): T {
    try {
      return this.#storage.transactionSync(fn)
    } catch (error) {
      this.#writers.memory.forget()
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

  /** Asks only for what is wanted, so it is to be read before the next statement. */
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

  /** A single row written may be the one in which SQLite keeps the last number of an AUTOINCREMENT, also where nothing was inserted. */
  write(...values: SqlValue[]): boolean {
    const { rowsWritten } = this.#driver.execute(this.#sql, values)
    return rowsWritten === 1 ? this.#ask(changes) > 0 : rowsWritten > 0
  }

  #ask(sql: string): number {
    return Number(this.#driver.execute(sql, []).raw().toArray()[0]?.[0])
  }

  /** Reads to the end: a cursor that is left open keeps the statement from being used again. */
  get(...values: SqlValue[]): SqlRow | undefined {
    return this.all(...values)[0]
  }

  all(...values: SqlValue[]): SqlRow[] {
    return this.#driver.execute(this.#sql, values).toArray().map(toRow)
  }
}

const changes = "SELECT changes()"

/** Drivers of one object are rarely more than one, and then they must know of each other. */
interface Writers {
  count: number
  worker: ObjectSqlDriver | undefined
  readonly memory: ObjectReadCache
  readonly listeners: Set<(writer: ObjectSqlDriver) => void>
}

const writersByStorage = new WeakMap<ObjectStorage, Writers>()

/** All was deleted. */
export function forgetAll(storage: ObjectStorage): void {
  writersOf(storage).memory.forget()
}

function writersOf(storage: ObjectStorage): Writers {
  const known = writersByStorage.get(storage)
  if (known) return known
  const writers: Writers = { count: 0, worker: undefined, memory: new ObjectReadCache(), listeners: new Set() }
  writersByStorage.set(storage, writers)
  return writers
}

const noRows: ObjectSqlCursor = { toArray: () => [], raw: () => ({ toArray: () => [] }), rowsWritten: 0 }

const tablesThere = `SELECT name FROM sqlite_master WHERE type = 'table'`

function toInput(value: SqlValue): ObjectSqlInput {
  if (typeof value !== "bigint") return value
  if (BigInt.asIntN(54, value) !== value) {
    throw new PerdureError("SQL_REFUSED", `an object's database takes whole numbers up to 2^53, not ${value}; bind it as text`)
  }
  return Number(value)
}

/** In place: rows are fresh, and most have no bytes. */
function toRow(row: Record<string, ObjectSqlOutput | Uint8Array>): SqlRow {
  for (const column in row) {
    const value = row[column]
    if (value instanceof ArrayBuffer) row[column] = new Uint8Array(value)
  }
  return row as SqlRow
}
