/** What a database of the store holds, and what may stand for a `?` in a statement. */
export type SqlValue = string | number | bigint | null | Uint8Array
export type SqlRow = Record<string, SqlValue>

export interface SqlResult {
  readonly changes: number | bigint
  readonly lastInsertRowid: number | bigint
}

/**
 * The store's own SQL, inside the transaction of a step. One statement a call, with a `?` for each value. It is synchronous, and of
 * no use any more once the function has returned.
 */
export interface Sql {
  run(sql: string, ...values: readonly SqlValue[]): SqlResult
  /** The first row. */
  get<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row | undefined
  all<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row[]
}

/** Anything but a promise: one in its place would let go of the transaction before its work is done. */
export type Synchronous<T> = T extends PromiseLike<unknown> ? never : T

/**
 * A client of `pg`, or what behaves like one, on whose connection a transaction is open. It is all that is asked of a client: an adapter
 * for a query builder needs nothing else.
 */
export interface TransactionClient {
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: Record<string, unknown>[]; readonly rowCount: number | null }>
}

/**
 * The function of a transaction on PostgreSQL. That it is one is said by the type of its client, such as `PoolClient` of `pg`: a function
 * that says nothing is for SQLite, and synchronous.
 */
export type ClientFunction<Client, Step, T> = [Client] extends [never] ? never : (client: Client, step: Step) => Promise<T>
