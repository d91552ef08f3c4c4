import { PerdureError } from "../../../core/errors.ts"
import type { Sql, SqlResult, SqlRow, SqlValue } from "../../../core/workflow/transaction-sql.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { type checkStatement, checkValues } from "./statement-rules.ts"

/** SQLite's primary result codes for failures of the machine, not of the statement (https://www.sqlite.org/rescode.html). */
const machineCodes = [/* NOMEM */ 7, /* INTERRUPT */ 9, /* IOERR */ 10, /* PROTOCOL */ 15]

/** The `sql` argument of a transaction's function. Some failures make SQLite roll back by itself; after such a failure every call throws. */
export class SqlSession implements Sql {
  readonly #statements: StatementCache
  #closed: Error | undefined

  constructor(statements: StatementCache) {
    this.#statements = statements
  }

  run(sql: string, ...values: readonly SqlValue[]): SqlResult {
    return this.#call(sql, values, (statement) => {
      const { changes, lastInsertRowid } = statement.run(...values)
      return { changes, lastInsertRowid }
    })
  }

  get<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row | undefined {
    return this.#call(sql, values, (statement) => {
      const row = statement.get(...values)
      return row === undefined ? undefined : plain(row)
    }) as Row | undefined
  }

  all<Row = SqlRow>(sql: string, ...values: readonly SqlValue[]): Row[] {
    return this.#call(sql, values, (statement) => statement.all(...values).map(plain)) as Row[]
  }

  /** Throws if SQLite has rolled back by itself: the transaction must fail even if the function has caught the error. */
  requireOpen(): void {
    if (this.#closed) throw this.#closed
  }

  close(): void {
    this.#closed = new PerdureError("SQL_REFUSED", "the transaction has ended; use sql only inside its function, which is synchronous")
  }

  #call<T>(sql: string, values: readonly SqlValue[], use: (statement: SqlStatement) => T): T {
    if (this.#closed) throw this.#closed
    checkValues(sql, values)
    try {
      return use(this.#statements.get(sql))
    } catch (error) {
      const failure = statementFailure(error, sql)
      if (this.#statements.isOutside()) this.#closed = failure
      throw failure
    }
  }
}

const keptMax = 200

/** Prepared statements of the user. Code has few statements and runs them again and again, so a small cache is enough. */
export class StatementCache {
  readonly #driver: SqlDriver
  readonly #check: typeof checkStatement
  readonly #statements = new Map<string, SqlStatement>()

  constructor(driver: SqlDriver, check: typeof checkStatement) {
    this.#driver = driver
    this.#check = check
  }

  get(sql: string): SqlStatement {
    const known = this.#statements.get(sql)
    if (known) return known
    this.#check(sql)
    const statement = this.#driver.prepare(sql)
    if (this.#statements.size >= keptMax) this.#statements.delete(this.#statements.keys().next().value ?? "")
    this.#statements.set(sql, statement)
    return statement
  }

  isOutside(): boolean {
    return this.#driver.isOutside()
  }
}

/** The error that the user's function gets: SQL_FAILED for a bad statement; errors of the file or the machine stay what they are. */
export function statementFailure(error: unknown, sql?: string): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  if (!PerdureError.is(error, "STORE_FAILED")) return error
  const { sqliteCode } = error.details
  if (typeof sqliteCode === "number" && machineCodes.includes(sqliteCode & 0xff)) return error
  const { cause } = error
  const message = cause instanceof Error ? cause.message : error.message
  return new PerdureError("SQL_FAILED", message, { details: { sqliteCode, ...(sql === undefined ? undefined : { sql }) }, cause })
}

/** Rows of the driver have no prototype, and the value codec has no plain form for such objects. */
function plain(row: SqlRow): SqlRow {
  return { ...row }
}
