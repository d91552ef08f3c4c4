import type { StoreWithin } from "../../ports/caller-transactions.ts"
import type { Turn } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import type { StartRequest } from "./instance-starter.ts"
import type { Worker } from "../worker/worker.ts"

/** Where starts and events are written: in transactions of the store, or in a transaction of the caller. */
export interface WriteScope {
  readonly store: StoreWithin
  readonly create: (startRequest: StartRequest) => Promise<CommitResult>
  readonly write: (turn: Turn) => Promise<CommitResult>
  /** Tells the workers about a written instance without an owner. */
  readonly announce: (id: string, dueAt: number | undefined) => void
}

/** Writes in transactions of the store. Workers are told at once. */
export function ownWriteScope(store: Store, worker: Worker, create: WriteScope["create"]): WriteScope {
  return {
    store,
    create,
    write: (turn) => new Promise((onResult) => worker.committer.submit(turn, { onResult })),
    announce: (id, dueAt) => worker.announce(id, dueAt),
  }
}
