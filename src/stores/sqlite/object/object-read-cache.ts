import type { SqlDriver, TableCache } from "../../../ports/sql-driver.ts"

/** What the read cache needs to know about a statement. An empty text: no table of ours, or the text of the statement does not tell. */
export interface StatementShape {
  /** If this table is empty, the statement finds and changes nothing. Empty for statements with functions or subqueries before FROM. */
  readonly reads: string
  /** The table into which the statement inserts rows. */
  readonly fills: string
  /** The table that the statement writes. */
  readonly writes: string
  /** The statement writes the limits or unique keys of an instance. */
  readonly isOnLimits: boolean
  /** The statement creates, alters or drops a table or an index. */
  readonly isDefinition: boolean
  /** The statement inserts one row or none. */
  readonly isInsertOfOne: boolean
}

/**
 * Caches what is known of an object's database, for all drivers of the object: which of our tables exist, which of them have never had a row, and
 * values that were read, until a statement writes to their table. Only these drivers write to the database. The cache pays because an object
 * parses a statement when it first runs it, which costs more than running it: a statement that would find nothing is better not run.
 */
export class ObjectReadCache implements TableCache {
  /** Undefined: not read yet. */
  #tables: Set<string> | undefined
  readonly #empty = new Set<string>()
  readonly #writtenAt = new Map<string, number>()
  readonly #values = new Map<string, { readonly version: number; readonly value: unknown }>()
  #writes = 0
  #clearedAt = 0

  /** `look` reads the names of all tables. */
  hasTable(table: string, look: () => Iterable<string>): boolean {
    this.#tables ??= new Set(look())
    return this.#tables.has(table)
  }

  /** Whether the table exists and has never had a row. */
  neverHadRows(table: string): boolean {
    return this.#empty.has(table)
  }

  /** Call this when a table was created. */
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

  /** The cached value of a key, unless the table was written to after the read. */
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

  /** Call this when the storage was deleted, or a transaction was rolled back. */
  clear(): void {
    this.#tables = undefined
    this.#empty.clear()
    this.#clearedAt = ++this.#writes
  }
}

/** Stands for the columns of limits and unique keys, which change rarely, as if they were a table of their own. */
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
  // The store has fewer statements than this. A user may have any number.
  if (shapes.size < 500) shapes.set(sql, shape)
  return shape
}

/** The table that a statement creates. */
export function tableCreatedBy(sql: string): string | undefined {
  return /^\s*CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(/.exec(sql)?.[1]
}

/** Reads through the driver's cache; a driver without one reads each time. */
export function getOrRead<T>(driver: SqlDriver, key: string, table: string, read: () => T): T {
  return driver.cache ? driver.cache.getOrRead(key, table, read) : read()
}
