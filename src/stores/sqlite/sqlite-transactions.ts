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
 *   begin
 *     what the user's function writes     a part of its own: fails where the transaction is not the one that was begun
 *     the turn
 *   commit                                synchronous from begin to end: nobody else's rows can get in between
 */
export class SqliteTransactions implements Transactions {
  readonly #flow: TurnFlow
  readonly #turns: TurnTable
  readonly #statements: StatementCache
  readonly #driver: SqlDriver

  /** `check`: throws what the user may not say to the database. */
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
      this.#turns.forget()
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

/** Of a commit: a foreign key that may be violated until then. Only the user's tables have any. */
function isConstraint(error: unknown): boolean {
  if (!PerdureError.is(error, "STORE_FAILED")) return false
  const { sqliteCode } = error.details
  return typeof sqliteCode === "number" && (sqliteCode & 0xff) === constraint
}
