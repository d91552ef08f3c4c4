/** What the store needs of a Durable Object's `ctx.storage`. */
export interface ObjectStorage {
  readonly sql: ObjectSql
  transactionSync<T>(fn: () => T): T
}

export interface ObjectSql {
  exec(query: string, ...bindings: ObjectSqlInput[]): ObjectSqlCursor
}

export interface ObjectSqlCursor {
  toArray(): Record<string, ObjectSqlOutput>[]
  raw(): { toArray(): ObjectSqlOutput[][] }
  /** Rows of tables and of indexes together. */
  readonly rowsWritten: number
}

export type ObjectSqlInput = string | number | Uint8Array | null

export type ObjectSqlOutput = string | number | ArrayBuffer | null
