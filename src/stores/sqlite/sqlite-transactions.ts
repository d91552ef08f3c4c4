import { PerdureError } from "../../core/errors.ts"
import type { Sql } from "../../core/workflow/transaction-sql.ts"
import type { Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { SqlDriver } from "../../ports/sql-driver.ts"
import type { Transactions } from "../../ports/transactions.ts"
import { SqlSession, StatementCache, statementFailure } from "./driver/user-sql-session.ts"
import type { SqliteTables } from "./sqlite-components.ts"
import { checkStatement } from "./driver/statement-rules.ts"
import type { TurnTable } from "./tables/turn-table.ts"
import type { TurnFlow } from "./tables/turn-flow-port.ts"

const constraint = 19

/**
 * Runs the function of a `ctx.transaction` and writes its turn in one SQLite transaction:
 *
 *   begin
 *     the writes of the user's function   in a savepoint, which fails if the function has ended the transaction
 *     the turn
 *   commit                                all of it is synchronous, so no other write of this process gets in between
 */
export class SqliteTransactions implements Transactions {
  readonly #flow: TurnFlow
  readonly #turns: TurnTable
  readonly #statements: StatementCache
  readonly #driver: SqlDriver

  /** `check` throws for statements that a user's function must not run. */
  constructor({ driver, turns, flow }: SqliteTables, check = checkStatement) {
    this.#flow = flow
    this.#turns = turns
    this.#statements = new StatementCache(driver, check)
    this.#driver = driver
  }

  async transact(run: (sql: Sql) => Turn): Promise<TurnOutcome> {
    let outcome: TurnOutcome | undefined
    try {
      return this.#flow.transaction(() => {
        this.#turns.begin()
        outcome = this.#turns.write(this.#call(run))
        if (outcome === "committed") return outcome
        throw new Error("the turn is lost: so is what was written with it")
      })
    } catch (error) {
      this.#turns.clearCache()
      if (outcome === "lost") return outcome
      throw isConstraint(error) ? statementFailure(error) : error
    }
  }

  #call(run: (sql: Sql) => Turn): Turn {
    const session = new SqlSession(this.#statements)
    try {
      return this.#driver.within(() => {
        const turn = run(session)
        session.requireOpen()
        return turn
      })
    } finally {
      session.close()
    }
  }
}

/** A commit fails like this for deferred foreign keys, which only the user's tables have. */
function isConstraint(error: unknown): boolean {
  if (!PerdureError.is(error, "STORE_FAILED")) return false
  const { sqliteCode } = error.details
  return typeof sqliteCode === "number" && (sqliteCode & 0xff) === constraint
}
