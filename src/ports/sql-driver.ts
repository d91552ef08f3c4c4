import type { SqlRow, SqlValue } from "../core/workflow/transaction-sql.ts"

export type { SqlRow, SqlValue }

/** A synchronous SQL database: `node:sqlite`, or a Durable Object's own. Statements bind at most 100 parameters. */
export interface SqlDriver {
  /** The database has so few instances that reading all of them costs less than a search by index. */
  readonly isSmall?: boolean
  prepare(sql: string): SqlStatement
  /** Prepares a query for many rows. It returns each row as an array of values, which costs less than half of an object. */
  prepareReader(sql: string): (...values: SqlValue[]) => SqlValue[][]
  exec(sql: string): void
  /** Runs statements that create tables with their first rows, all or none, in one call if that costs less. `version` of other drivers does not change. */
  createTables?(statements: readonly string[]): void
  /** Whether a table exists, answered without a query. Present if no other process writes to the database. */
  hasTable?(name: string): boolean
  /** A cache of values read from tables. Present if no other process writes to the database. */
  readonly cache?: TableCache
  /** Runs `fn` in a write transaction. If `fn` throws, nothing is written. */
  transaction<T>(fn: () => T): T
  /** Runs an `fn` with at most one writing statement, which is atomic without a transaction. Present if that costs less. */
  singleWrite?<T>(fn: () => T): T
  /** Runs user code as a part of the open transaction. Throws if the code has ended the transaction. If the code throws, the caller rolls the transaction back. */
  within<T>(fn: () => T): T
  /** Whether no transaction is open. After some failures SQLite has rolled back by itself. */
  isOutside(): boolean
  /** A value that changes when another connection has written. */
  version(): unknown
}

/** A cached value is valid until a statement writes to its table. */
export interface TableCache {
  getOrRead<T>(key: string, table: string, read: () => T): T
  set(key: string, table: string, value: unknown): void
}

export interface SqlChanges {
  readonly changes: number
  /** The rowid of the row inserted last. */
  readonly lastInsertRowid: number | bigint
}

export interface SqlStatement {
  run(...values: SqlValue[]): SqlChanges
  /** Runs the statement, and returns whether it wrote a row. Some drivers know more only after another query. */
  write(...values: SqlValue[]): boolean
  get(...values: SqlValue[]): SqlRow | undefined
  all(...values: SqlValue[]): SqlRow[]
}
