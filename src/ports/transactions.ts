import type { Sql, TransactionClient } from "../core/workflow/transaction-sql.ts"
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

/** The same of a store that is a server: each transaction has a connection to itself, and what the user does on it is awaited. */
export interface ClientTransactions {
  /** May wait until a connection is free. An error: it could not be begun now. */
  begin(): Promise<ClientTransaction>
}

/** It ends with `commit` or `rollBack`, whichever comes first; from then on the client refuses to be used. */
export interface ClientTransaction {
  readonly client: TransactionClient
  /** Why its connection is lost. Nothing was written then, and nobody but the network is to blame. */
  readonly lostBy: unknown
  /** Writes the turn last, and commits. A lost turn rolls all back. An error: it is not known whether anything was written. */
  commit(turn: Turn): Promise<TurnOutcome | Undone>
  /** Never rejects. It does not wait for a statement that is under way: that is cancelled. */
  rollBack(): Promise<void>
}

/** Nothing was written. */
export interface Undone {
  readonly undoneBy: unknown
  /** It says nothing about what the user's function did: the same once more may succeed. */
  readonly isOutage: boolean
}
