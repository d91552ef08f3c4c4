import type { StoreWithin } from "../../ports/caller-transactions.ts"
import type { Turn } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import type { StartRequest } from "./instance-starter.ts"
import type { Worker } from "../worker/worker.ts"

/** Where something is started or sent: in transactions of the store's own, or in one of the caller's. */
export interface WriteScope {
  readonly store: StoreWithin
  readonly create: (startRequest: StartRequest) => Promise<CommitResult>
  readonly write: (turn: Turn) => Promise<CommitResult>
  /** An instance that nobody owns was written. */
  readonly announce: (id: string, dueAt: number | undefined) => void
}

/** Whoever is written to is told at once. */
export function ownWriteScope(store: Store, worker: Worker, create: WriteScope["create"]): WriteScope {
  return {
    store,
    create,
    write: (turn) => new Promise((onResult) => worker.committer.submit(turn, { onResult })),
    announce: (id, dueAt) => worker.announce(id, dueAt),
  }
}
