/** The part of the `pg` package that is used here. A user's own pool has it, and so has any other that behaves like it. */

export interface PostgresPool {
  readonly options?: { readonly max?: number | undefined } | undefined
  connect(): Promise<PostgresClient>
  end(): Promise<void>
  on(event: "error", listener: (error: Error) => void): unknown
  /** A connection was made. */
  on(event: "connect", listener: (client: PostgresClient) => void): unknown
  off?(event: "error", listener: (error: Error) => void): unknown
  off?(event: "connect", listener: (client: PostgresClient) => void): unknown
}

export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>
  query(text: string, values?: readonly unknown[]): Promise<PostgresResult>
  on(event: "error", listener: (error: Error) => void): unknown
  off(event: "error", listener: (error: Error) => void): unknown
  /** With an error: the connection is not used again. */
  release(error?: Error | boolean): void
}

export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  /** Of a statement that is prepared once per connection. */
  readonly name?: string
  /** Of this statement, in place of the connection's. */
  readonly query_timeout?: number
  readonly types?: { getTypeParser(oid: number, format?: string): unknown }
}

export interface PostgresResult {
  readonly rows: Record<string, unknown>[]
  readonly rowCount: number | null
}

export interface PgModule {
  readonly Pool: new (options: Record<string, unknown>) => PostgresPool
  readonly types: { getTypeParser(oid: number, format?: string): unknown }
}
