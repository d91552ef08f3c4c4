/** The part of a Durable Object's `ctx.storage` that the store needs. */
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
  /** Counts rows of tables and of indexes. */
  readonly rowsWritten: number
}

export type ObjectSqlInput = string | number | Uint8Array | null

export type ObjectSqlOutput = string | number | ArrayBuffer | null
