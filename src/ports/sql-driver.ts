import type { SqlRow, SqlValue } from "../core/workflow/transaction-sql.ts"

export type { SqlRow, SqlValue }

/** A synchronous SQL database: `node:sqlite`, or a Durable Object's own. Statements bind at most 100 parameters. */
export interface SqlDriver {
  /** It holds so few instances that to look at all of them costs less than to look for some. */
  readonly isSmall?: boolean
  prepare(sql: string): SqlStatement
  /** For many rows at once: each is its values in the order of the columns, which costs less than half of an object. */
  prepareReader(sql: string): (...values: SqlValue[]) => SqlValue[][]
  exec(sql: string): void
  /** Statements that make tables, and their first rows: all of them or none. Together, where that costs less; it is no news to other drivers. */
  createTables?(statements: readonly string[]): void
  /** Known without asking, where nobody else writes to the database. */
  hasTable?(name: string): boolean
  /** Values that were read from tables; present where this process alone writes to the database. */
  readonly cache?: TableCache
  /** Runs `fn` in a write transaction: all of it or nothing. */
  transaction<T>(fn: () => T): T
  /** The same of an `fn` that writes by one statement at most, which is all or nothing by itself; where that costs less. */
  singleWrite?<T>(fn: () => T): T
  /** Runs `fn` as a part of the transaction that is open. Fails where `fn` got that transaction ended. */
  within<T>(fn: () => T): T
  /** Whether no transaction is open: some failures make SQLite roll back by itself. */
  isOutside(): boolean
  /** Another value than before when another connection has written meanwhile. */
  version(): unknown
}

/** A cached value is valid until a statement writes to its table. */
export interface TableCache {
  getOrRead<T>(key: string, table: string, read: () => T): T
  set(key: string, table: string, value: unknown): void
}

export interface SqlChanges {
  readonly changes: number
  /** Of the row inserted last. */
  readonly lastInsertRowid: number | bigint
}

export interface SqlStatement {
  run(...values: SqlValue[]): SqlChanges
  /** As `run`, and tells only whether a row was written: not every driver knows more than that without asking again. */
  write(...values: SqlValue[]): boolean
  get(...values: SqlValue[]): SqlRow | undefined
  all(...values: SqlValue[]): SqlRow[]
}
