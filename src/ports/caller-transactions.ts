import type { Directory } from "./directory.ts"
import type { FlowControl } from "./flow-control.ts"
import type { JournalStore } from "./journal-store.ts"

/** Lets a caller start instances and send messages inside a transaction of its own. Stores offer this if callers can have transactions in their database. */
export interface CallerTransactions {
  /**
   * Calls `work` with a part of the store that reads and writes in the transaction that is open on `client`. If `work` throws, its writes are undone, and
   * the rest of the transaction stays. Other processes are notified when the caller commits. A client without an open transaction is refused with
   * BAD_TRANSACTION.
   */
  within<T>(client: unknown, work: (store: StoreWithin) => Promise<T>): Promise<T>
}

/** The part of a store that starts and sends need. */
export interface StoreWithin {
  readonly journal: Pick<JournalStore, "commit" | "readJournal">
  readonly directory: Pick<Directory, "get" | "deliver" | "deliverOrCreate">
  readonly flow: Pick<FlowControl, "holder">
}
