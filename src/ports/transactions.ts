import type { Sql, TransactionClient } from "../core/workflow/transaction-sql.ts"
import type { Turn, TurnOutcome } from "./journal-store.ts"

/** Writes a turn and a user's writes to tables of their own in one transaction. */
export interface Transactions {
  /**
   * Opens a transaction, calls `run` in it, and commits the turn that `run` returns together with the writes of `run`. No other write comes in between. If
   * `run` throws, everything is rolled back and the error is thrown again. A lost turn rolls everything back too, and `lost` is returned. An error with the
   * code SQL_FAILED, also from the commit, means that nothing was written. After any other error of the commit the outcome is unknown.
   */
  transact(run: (sql: Sql) => Turn): Promise<TurnOutcome>
}

/** The same on a database server: each transaction has a connection of its own, and the user's function is asynchronous. */
export interface ClientTransactions {
  /** Begins a transaction, after waiting for a free connection if necessary. Throws if it cannot be begun now. */
  begin(): Promise<ClientTransaction>
}

/** A transaction, which ends with the first `commit` or `rollBack`. From then on its client refuses every call. */
export interface ClientTransaction {
  readonly client: TransactionClient
  /** The error that has broken the connection. Then nothing was written, and the user's function is not at fault. */
  readonly lostBy: unknown
  /** Writes the turn and commits. A lost turn rolls everything back. After an error the outcome is unknown. */
  commit(turn: Turn): Promise<TurnOutcome | Undone>
  /** Rolls back, and never rejects. A statement that is running is cancelled. */
  rollBack(): Promise<void>
}

/** The outcome of a transaction that has written nothing. */
export interface Undone {
  readonly undoneBy: unknown
  /** The cause is an outage and not the user's function, so a repetition may succeed. */
  readonly isOutage: boolean
}
