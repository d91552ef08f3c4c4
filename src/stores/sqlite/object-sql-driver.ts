import { PerdureError } from "../../core/errors.ts"
import type { SqlChanges, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../../ports/sql-driver.ts"
import { closedStore } from "../closed-store.ts"
import { objectSqlFailure } from "./object-sql-failure.ts"
import type { ObjectSqlCursor, ObjectSqlInput, ObjectSqlOutput, ObjectStorage } from "./object-storage.ts"

/**
 * A Durable Object's own database as a driver. What it writes together is one write of the object: the object's storage gathers all
 * that is written before the next await, and lets nothing leave the object until that is durable.
 *
 * Statements are kept by the object itself, by their text; to prepare one costs nothing here. `BEGIN`, `SAVEPOINT` and the like are
 * refused by the object, so a user cannot end a transaction by them; what else would roll it back breaks the object, and is refused here.
 */
export class ObjectSqlDriver implements SqlDriver {
  readonly #storage: ObjectStorage
  readonly #writers: Writers
  readonly #parts: (name: string) => readonly string[]
  readonly isSmall = true
  #own = 0
  #closed = false

  /** `parts`: what makes a table or an index of ours that a statement names and that is not there. */
  constructor(storage: ObjectStorage, parts: (name: string) => readonly string[] = () => []) {
    this.#storage = storage
    this.#parts = parts
    this.#writers = writersOf(storage)
  }

  prepare(sql: string): SqlStatement {
    this.#requireOpen()
    refuseRollback(sql)
    return new ObjectSqlStatement(sql, this.execute)
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

  transaction<T>(fn: () => T): T {
    this.#requireOpen()
    const result = this.#storage.transactionSync(fn)
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

  readonly execute = (sql: string, values: readonly SqlValue[]): ObjectSqlCursor => {
    this.#requireOpen()
    const { missing } = this.#writers
    if (missing.size > 0 && missing.has(readTable(sql))) return noRows
    const bindings = values.some((value) => typeof value === "bigint") ? values.map(toInput) : (values as ObjectSqlInput[])
    try {
      const cursor = this.#storage.sql.exec(sql, ...bindings)
      if (missing.size > 0 && cursor.rowsWritten > 0 && /^\s*CREATE\b/i.test(sql)) missing.clear()
      return cursor
    } catch (error) {
      const name = /^no such (?:table|index): (perdure_\w+)/.exec(error instanceof Error ? error.message : "")?.[1] ?? ""
      const statements = this.#parts(name)
      if (statements.length === 0) throw objectSqlFailure(error)
      // What is only read need not be there for that, unless it begins with something in it.
      if (readTable(sql) === name && statements.length === 1) {
        missing.add(name)
        return noRows
      }
      missing.delete(name)
      for (const statement of statements) this.#storage.sql.exec(statement)
      return this.execute(sql, values)
    }
  }

  #requireOpen(): void {
    if (this.#closed) throw closedStore()
  }
}

class ObjectSqlStatement implements SqlStatement {
  readonly #sql: string
  readonly #execute: ObjectSqlDriver["execute"]

  constructor(sql: string, execute: ObjectSqlDriver["execute"]) {
    this.#sql = sql
    this.#execute = execute
  }

  run(...values: SqlValue[]): SqlChanges {
    const { rowsWritten } = this.#execute(this.#sql, values)
    return new ObjectSqlChanges(rowsWritten, this.#execute)
  }

  /** A single row written may be the one in which SQLite keeps the last number of an AUTOINCREMENT, also where nothing was inserted. */
  write(...values: SqlValue[]): boolean {
    const { rowsWritten } = this.#execute(this.#sql, values)
    return rowsWritten === 1 ? new ObjectSqlChanges(rowsWritten, this.#execute).changes > 0 : rowsWritten > 0
  }

  /** Reads to the end: a cursor that is left open keeps the statement from being used again. */
  get(...values: SqlValue[]): SqlRow | undefined {
    return this.all(...values)[0]
  }

  all(...values: SqlValue[]): SqlRow[] {
    return this.#execute(this.#sql, values).toArray().map(toRow)
  }
}

/** Asks only for what is wanted, so it is to be read before the next statement. */
class ObjectSqlChanges implements SqlChanges {
  readonly #rowsWritten: number
  readonly #execute: ObjectSqlDriver["execute"]

  constructor(rowsWritten: number, execute: ObjectSqlDriver["execute"]) {
    this.#rowsWritten = rowsWritten
    this.#execute = execute
  }

  get changes(): number {
    return this.#rowsWritten === 0 ? 0 : this.#ask("SELECT changes()")
  }

  get lastInsertRowid(): number {
    return this.#ask("SELECT last_insert_rowid()")
  }

  #ask(sql: string): number {
    return Number(this.#execute(sql, []).raw().toArray()[0]?.[0])
  }
}

/** Drivers of one object are rarely more than one, and then they must know of each other. */
interface Writers {
  count: number
  worker: ObjectSqlDriver | undefined
  /** Tables of ours that are not there yet, as far as somebody has looked. */
  readonly missing: Set<string>
  readonly listeners: Set<(writer: ObjectSqlDriver) => void>
}

const writersByStorage = new WeakMap<ObjectStorage, Writers>()

function writersOf(storage: ObjectStorage): Writers {
  const known = writersByStorage.get(storage)
  if (known) return known
  const writers: Writers = { count: 0, worker: undefined, missing: new Set(), listeners: new Set() }
  writersByStorage.set(storage, writers)
  return writers
}

const noRows: ObjectSqlCursor = { toArray: () => [], raw: () => ({ toArray: () => [] }), rowsWritten: 0 }

const readTables = new Map<string, string>()

/** The table without which a statement finds nothing and does nothing; empty where that cannot be told, as with functions and subqueries before FROM. */
function readTable(sql: string): string {
  let name = readTables.get(sql)
  if (name === undefined) {
    name = /\bUNION\b/.test(sql) ? "" : (/^\s*(?:SELECT [^()]*? FROM|DELETE FROM) (perdure_\w+)/.exec(sql)?.[1] ?? "")
    // Those of the store; a user's are any number.
    if (readTables.size < 500) readTables.set(sql, name)
  }
  return name
}

function refuseRollback(sql: string): void {
  if (!/\bOR\s+ROLLBACK\b|\bRAISE\s*\(\s*ROLLBACK\b/i.test(sql)) return
  throw new PerdureError("SQL_REFUSED", "OR ROLLBACK and RAISE(ROLLBACK) break the storage of a Durable Object; use OR ABORT, and throw an error", {
    details: { sql },
  })
}

function toInput(value: SqlValue): ObjectSqlInput {
  if (typeof value !== "bigint") return value
  if (BigInt.asIntN(54, value) !== value) {
    throw new PerdureError("SQL_REFUSED", `a Durable Object's database takes whole numbers up to 2^53 only, not ${value}; bind it as text`)
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
