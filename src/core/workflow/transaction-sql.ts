/** A value in a column, or for a `?` of a statement. */
export type SqlValue = string | number | bigint | null | Uint8Array
/** A row of a result: the value of each column by its name. */
export type SqlRow = Record<string, SqlValue>

/** The effect of a statement. */
export interface SqlResult {
  /** How many rows the statement has inserted, updated or deleted. */
  readonly changes: number | bigint
  /** The rowid of the row inserted last. */
  readonly lastInsertRowid: number | bigint
}

/**
 * SQL on the store's database, inside the transaction of a step. Each call runs one statement, with a `?` for each value. Calls are synchronous, and
 * are refused after the function has returned.
 */
export interface Sql {
  /** Runs a statement, and returns its effect. Like `get` and `all`, it throws `SQL_FAILED` with SQLite's message, or `SQL_REFUSED` for a statement that a transaction must not run. */
  run(sql: string, ...values: readonly SqlValue[]): SqlResult
  /** The first row of a statement's result. Undefined: the result is empty. */
  get<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row | undefined
  /** All rows of a statement's result. */
  all<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row[]
}

/** Any type but a promise. With a promise, the transaction would end before the function's work is done. */
export type Synchronous<T> = T extends PromiseLike<unknown> ? never : T

/**
 * A client of `pg`, or an object that behaves like one, with a transaction open on its connection. This interface is all that Perdure needs of a client,
 * so an adapter for a query builder has to implement nothing else.
 */
export interface TransactionClient {
  /** Runs one statement on the connection of the transaction, with `$1`, `$2` … for its values. */
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: Record<string, unknown>[]; readonly rowCount: number | null }>
}

/**
 * The function of a transaction on PostgreSQL. Its parameter has the type of a client, such as `PoolClient` of `pg`. A function whose parameter has no
 * type annotation is one for SQLite, and is synchronous.
 */
export type ClientFunction<Client, Step, T> = [Client] extends [never] ? never : (client: Client, step: Step) => Promise<T>
