/** The part of a `Pool` of the `pg` package that Perdure uses. Your own pool has it, and so has any pool with the same methods. */
export interface PostgresPool {
  /** The pool's options. A pool with fewer than three connections is refused. */
  readonly options?: { readonly max?: number | undefined } | undefined
  /** Takes a client, which no other caller uses until it is released. */
  connect(): Promise<PostgresClient>
  /** Closes all connections. Perdure calls it only for its own pools. */
  end(): Promise<void>
  /** An unused connection has failed. */
  on(event: "error", listener: (error: Error) => void): unknown
  /** A connection was opened. */
  on(event: "connect", listener: (client: PostgresClient) => void): unknown
  /** Removes a listener. */
  off?(event: "error", listener: (error: Error) => void): unknown
  off?(event: "connect", listener: (client: PostgresClient) => void): unknown
}

/** The part of a client of the `pg` package that Perdure uses. */
export interface PostgresClient {
  /** Runs one statement. */
  query(query: PostgresQuery): Promise<PostgresResult>
  query(text: string, values?: readonly unknown[]): Promise<PostgresResult>
  /** The connection was lost. */
  on(event: "error", listener: (error: Error) => void): unknown
  /** Removes a listener. */
  off(event: "error", listener: (error: Error) => void): unknown
  /** Returns the connection to the pool. With an error, the pool closes the connection. */
  release(error?: Error | boolean): void
}

/** A statement, as `pg` takes it. */
export interface PostgresQuery {
  /** The statement, with `$1`, `$2` … for its values. */
  readonly text: string
  /** The values of the statement. */
  readonly values?: unknown[]
  /** The name of a statement that is prepared once per connection. */
  readonly name?: string
  /** The time limit of this statement in milliseconds, instead of the limit of the connection. */
  readonly query_timeout?: number
  /** How values of the result are read from their texts. */
  readonly types?: { getTypeParser(oid: number, format?: string): unknown }
}

/** The result of a statement, as `pg` returns it. */
export interface PostgresResult {
  /** The rows, each with the value of each column by its name. */
  readonly rows: Record<string, unknown>[]
  /** How many rows were read or changed; null for other statements. */
  readonly rowCount: number | null
}

export interface PgModule {
  readonly Pool: new (options: Record<string, unknown>) => PostgresPool
  readonly types: { getTypeParser(oid: number, format?: string): unknown }
}
