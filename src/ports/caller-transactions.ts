import type { Directory } from "./directory.ts"
import type { FlowControl } from "./flow-control.ts"
import type { JournalStore } from "./journal-store.ts"

/** Offered by stores in a database that callers have transactions of their own in: what they ask for can be part of such a one. */
export interface CallerTransactions {
  /**
   * Calls `work` with the part of the store that reads and writes in the transaction that is open on the client. What `work` throws
   * undoes what it wrote, and nothing else of the transaction. Others learn of it when the caller commits. A client that is of no use
   * is refused with BAD_TRANSACTION.
   */
  within<T>(client: unknown, work: (store: StoreWithin) => Promise<T>): Promise<T>
}

/** What starting and sending need of a store. */
export interface StoreWithin {
  readonly journal: Pick<JournalStore, "commit" | "readJournal">
  readonly directory: Pick<Directory, "get" | "deliver" | "deliverOrCreate">
  readonly flow: Pick<FlowControl, "holder">
}
