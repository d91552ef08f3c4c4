import type { SqlDriver, TableCache } from "../../../ports/sql-driver.ts"

/** A statement, as far as the memory of a database needs to know it. Empty: no table of ours, or it cannot be told. */
export interface StatementShape {
  /** The table without rows of which it finds nothing and changes nothing; not told of functions and subqueries before FROM. */
  readonly reads: string
  /** The table that it adds rows to. */
  readonly fills: string
  /** The table that it writes. */
  readonly writes: string
  /** It says something of the limits and keys of an instance. */
  readonly isOnLimits: boolean
  /** It makes, changes or removes a table or an index. */
  readonly isDefinition: boolean
  /** It inserts one row, or none. */
  readonly isInsertOfOne: boolean
}

/**
 * What is known of an object's database, by all drivers of it, without asking: which of our tables are there, which of them have never had a
 * row, and whether a table was written since. Nobody else writes to it; and a statement that an object runs for the first time has to be
 * parsed, which costs more than to run it, so one that would find nothing is better not run at all.
 */
export class ObjectReadCache implements TableCache {
  /** Undefined: nobody has looked. */
  #tables: Set<string> | undefined
  readonly #empty = new Set<string>()
  readonly #writtenAt = new Map<string, number>()
  readonly #values = new Map<string, { readonly version: number; readonly value: unknown }>()
  #writes = 0
  #clearedAt = 0

  /** `look`: the names of the tables that are there. */
  hasTable(table: string, look: () => Iterable<string>): boolean {
    this.#tables ??= new Set(look())
    return this.#tables.has(table)
  }

  /** It is there, and has never had a row. */
  neverHadRows(table: string): boolean {
    return this.#empty.has(table)
  }

  /** It was not there, and is now. */
  tableCreated(table: string): void {
    this.#tables?.add(table)
    this.#empty.add(table)
  }

  afterStatement({ fills, writes, isOnLimits, isDefinition }: StatementShape, rowsWritten: number): void {
    if (fills !== "") this.#empty.delete(fills)
    if (writes !== "" && rowsWritten > 0) this.#writtenAt.set(writes, ++this.#writes)
    if (isOnLimits) this.#writtenAt.set(limitColumns, ++this.#writes)
    if (isDefinition) this.clear()
  }

  /** What was read of a table, as long as nobody has written to it. */
  getOrRead<T>(key: string, table: string, read: () => T): T {
    const version = this.#versionOf(table)
    const known = this.#values.get(key)
    if (known?.version === version) return known.value as T
    const value = read()
    this.#values.set(key, { version, value })
    return value
  }

  /** Stores what the caller has just written to the table. */
  set(key: string, table: string, value: unknown): void {
    this.#values.set(key, { version: this.#versionOf(table), value })
  }

  #versionOf(table: string): number {
    return Math.max(this.#writtenAt.get(table) ?? 0, this.#clearedAt)
  }

  /** All was deleted, or a transaction did not happen. */
  clear(): void {
    this.#tables = undefined
    this.#empty.clear()
    this.#clearedAt = ++this.#writes
  }
}

/** What of an instance's row changes rarely, as if it were a table of its own. */
export const limitColumns = "limits"

const shapes = new Map<string, StatementShape>()

export function shapeOf(sql: string): StatementShape {
  const known = shapes.get(sql)
  if (known) return known
  const reads = /\bUNION\b/.test(sql) ? undefined : /^\s*(?:SELECT [^()]*? FROM|DELETE FROM|UPDATE) (perdure_\w+)/.exec(sql)?.[1]
  const fills = /\bINTO\s+(perdure_\w+)/i.exec(sql)?.[1]
  const writes = fills ?? /^\s*(?:UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+(perdure_\w+)/i.exec(sql)?.[1]
  const shape = {
    reads: reads ?? "",
    fills: fills ?? "",
    writes: writes ?? "",
    isOnLimits: writes === "perdure_instance" && /\b(?:limits|uniques)\b/.test(sql),
    isDefinition: /^\s*(?:CREATE|DROP|ALTER)\b/i.test(sql),
    isInsertOfOne: /^\s*INSERT INTO \w+ \([\w, ]*\) VALUES \([?, ]*\) ON CONFLICT (?:\(\w+\) )?DO NOTHING$/.test(sql),
  }
  // Those of the store; a user's are any number.
  if (shapes.size < 500) shapes.set(sql, shape)
  return shape
}

/** The table that a statement makes, which has no rows then. */
export function tableCreatedBy(sql: string): string | undefined {
  return /^\s*CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(/.exec(sql)?.[1]
}

/** Reads through the driver's cache; a driver without one reads each time. */
export function getOrRead<T>(driver: SqlDriver, key: string, table: string, read: () => T): T {
  return driver.cache ? driver.cache.getOrRead(key, table, read) : read()
}
