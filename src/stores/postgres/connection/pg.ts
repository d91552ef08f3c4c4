/** The part of a `Pool` of the `pg` package that is used here. Your own pool has it, and so has any other that behaves like it. */
export interface PostgresPool {
  /** How it was made: a pool that says it has fewer than three connections is refused. */
  readonly options?: { readonly max?: number | undefined } | undefined
  /** A client of its own, until it is released. */
  connect(): Promise<PostgresClient>
  /** Closes all connections. Called only for a pool that Perdure has made. */
  end(): Promise<void>
  /** Tells of a connection that failed while nobody used it. */
  on(event: "error", listener: (error: Error) => void): unknown
  /** A connection was made. */
  on(event: "connect", listener: (client: PostgresClient) => void): unknown
  /** Takes a listener away. */
  off?(event: "error", listener: (error: Error) => void): unknown
  off?(event: "connect", listener: (client: PostgresClient) => void): unknown
}

/** The part of a client of the `pg` package that is used here. */
export interface PostgresClient {
  /** Runs one statement. */
  query(query: PostgresQuery): Promise<PostgresResult>
  query(text: string, values?: readonly unknown[]): Promise<PostgresResult>
  /** Tells that the connection was lost. */
  on(event: "error", listener: (error: Error) => void): unknown
  /** Takes a listener away. */
  off(event: "error", listener: (error: Error) => void): unknown
  /** Gives the connection back to the pool. With an error: the connection is not used again. */
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
  /** How many milliseconds this statement may take, in place of what the connection allows. */
  readonly query_timeout?: number
  /** How values of the result are read from their texts. */
  readonly types?: { getTypeParser(oid: number, format?: string): unknown }
}

/** What a statement gives, as `pg` has it. */
export interface PostgresResult {
  /** The rows, each with the value of each column by its name. */
  readonly rows: Record<string, unknown>[]
  /** How many rows were read or changed; null where that has no meaning. */
  readonly rowCount: number | null
}

export interface PgModule {
  readonly Pool: new (options: Record<string, unknown>) => PostgresPool
  readonly types: { getTypeParser(oid: number, format?: string): unknown }
}
