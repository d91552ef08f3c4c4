import type { Sql } from "../core/sql.ts"
import type { Turn, TurnOutcome } from "./journal-store.ts"

/** Offered by stores that can write a turn and what a user writes to tables of their own as one. */
export interface Transactions {
  /**
   * Opens a transaction, calls `run` in it, and commits the turn that it gives together with what it wrote; nothing else gets in
   * between. What `run` throws rolls all back and is thrown again. So does a lost turn, which is answered as one. An error with the
   * code SQL_FAILED, also from the commit itself, means that nothing was written; of any other error after `run` nothing is known.
   */
  transact(run: (sql: Sql) => Turn): Promise<TurnOutcome>
}
