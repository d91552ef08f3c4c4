import type { SqlRow, SqlValue } from "../core/sql.ts"

export type { SqlRow, SqlValue }

/** A synchronous SQL database: `node:sqlite`, or a Durable Object's own. Statements bind at most 100 parameters. */
export interface SqlDriver {
  prepare(sql: string): SqlStatement
  /** For many rows at once: each is its values in the order of the columns, which costs less than half of an object. */
  prepareReader(sql: string): (...values: SqlValue[]) => SqlValue[][]
  exec(sql: string): void
  /** Runs `fn` in a write transaction: all of it or nothing. */
  transaction<T>(fn: () => T): T
}

export interface SqlChanges {
  readonly changes: number
  /** Of the row inserted last, where the driver tells. */
  readonly lastInsertRowid?: number | bigint
}

export interface SqlStatement {
  run(...values: SqlValue[]): SqlChanges
  get(...values: SqlValue[]): SqlRow | undefined
  all(...values: SqlValue[]): SqlRow[]
}
