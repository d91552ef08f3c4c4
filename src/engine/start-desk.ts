import { PerdureError } from "../core/errors.ts"
import type { StoreWithin } from "../ports/caller-transactions.ts"
import type { Turn } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { CommitResult } from "./committer.ts"
import type { Birth } from "./starter.ts"
import type { Worker } from "./worker.ts"

/** Where something is started or sent: in transactions of the store's own, or in one of the caller's. */
export interface StartDesk {
  readonly store: StoreWithin
  readonly create: (birth: Birth) => Promise<CommitResult>
  readonly write: (turn: Turn) => Promise<CommitResult>
  /** An instance that nobody owns was written. */
  readonly announce: (id: string, dueAt: number | undefined) => void
}

/** Whoever is written to is told at once. */
export function ownDesk(store: Store, worker: Worker, create: StartDesk["create"]): StartDesk {
  return {
    store,
    create,
    write: (turn) => new Promise((onResult) => worker.committer.submit(turn, { onResult })),
    announce: (id, dueAt) => worker.announce(id, dueAt),
  }
}

/** Whoever is written to is told by the database, when the caller commits. */
export function callersDesk(store: StoreWithin, turnOf: (birth: Birth) => Turn): StartDesk {
  const write = async (turn: Turn): Promise<CommitResult> => (await store.journal.commit([turn]))[0] ?? "lost"
  return { store, create: (birth) => write(turnOf(birth)), write, announce: () => undefined }
}

export function within<T>(store: Store, client: unknown, work: (store: StoreWithin) => Promise<T>): Promise<T> {
  const { callerTransactions } = store
  if (callerTransactions) return callerTransactions.within(client, work)
  throw new PerdureError(
    "NO_TRANSACTIONS",
    "this store cannot write in a transaction of yours; use postgres(…), and give a client of pg with a transaction open",
  )
}
