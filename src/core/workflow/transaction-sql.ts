/** What a database of the store holds, and what may stand for a `?` in a statement. */
export type SqlValue = string | number | bigint | null | Uint8Array
/** A row of a result: the value of each column by its name. */
export type SqlRow = Record<string, SqlValue>

/** What a statement has done. */
export interface SqlResult {
  /** How many rows it inserted, updated or deleted. */
  readonly changes: number | bigint
  /** The rowid of the row inserted last. */
  readonly lastInsertRowid: number | bigint
}

/**
 * The store's own SQL, inside the transaction of a step. One statement a call, with a `?` for each value. It is synchronous, and of
 * no use any more once the function has returned.
 */
export interface Sql {
  /** Runs a statement, and tells what it changed. Throws `SQL_FAILED` in the words of SQLite, or `SQL_REFUSED` for what a transaction may not do, as `get` and `all` do. */
  run(sql: string, ...values: readonly SqlValue[]): SqlResult
  /** The first row that a statement gives; undefined: it gives none. */
  get<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row | undefined
  /** All rows that a statement gives. */
  all<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row[]
}

/** Anything but a promise: one in its place would let go of the transaction before its work is done. */
export type Synchronous<T> = T extends PromiseLike<unknown> ? never : T

/**
 * A client of `pg`, or what behaves like one, on whose connection a transaction is open. It is all that is asked of a client: an adapter
 * for a query builder needs nothing else.
 */
export interface TransactionClient {
  /** Runs one statement with `$1`, `$2` … for its values, on the connection of the transaction. */
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: Record<string, unknown>[]; readonly rowCount: number | null }>
}

/**
 * The function of a transaction on PostgreSQL. That it is one is said by the type of its client, such as `PoolClient` of `pg`: a function
 * that says nothing is for SQLite, and synchronous.
 */
export type ClientFunction<Client, Step, T> = [Client] extends [never] ? never : (client: Client, step: Step) => Promise<T>
