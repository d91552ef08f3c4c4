/** A synchronous SQL database: `node:sqlite`, or a Durable Object's own. Statements bind at most 100 parameters. */
export interface SqlDriver {
  prepare(sql: string): SqlStatement
  exec(sql: string): void
  /** Runs `fn` in a write transaction: all of it or nothing. */
  transaction<T>(fn: () => T): T
}

export type SqlValue = string | number | bigint | null | Uint8Array
export type SqlRow = Record<string, SqlValue>

export interface SqlStatement {
  run(...values: SqlValue[]): { readonly changes: number }
  get(...values: SqlValue[]): SqlRow | undefined
  all(...values: SqlValue[]): SqlRow[]
}
