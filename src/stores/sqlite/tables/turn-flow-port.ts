import type { UniqueUse } from "../../../ports/flow-control.ts"
import type { RowState } from "../../../ports/journal-store.ts"

/** What claims and commits do to flow control, within their transactions. */
export interface TurnFlow {
  /** A write transaction; whoever listens is told afterwards who was let in. */
  transaction<T>(fn: () => T): T
  /** How many the transaction that is under way has let in. */
  readonly admittedCount: number
  /** Before it is claimed. Undefined: it is parked, and nothing wakes it. */
  tryAdmit(key: number, now: number): "taken" | "queuedForSlot" | "none" | undefined
  /** It is claimed and goes on: nobody replaces its input any more. */
  releaseDebounceKeys(key: number, uniques: string | undefined, dueAt: number | undefined, now: number): void
  isQueued(key: number): boolean
  isOwnedBy(key: number, worker: string): boolean
  /** A turn gives the instance another state. False: another instance has a key that a restart needs. */
  updateUniqueKeys(key: number, state: RowState): boolean
  /** Sets one with limits to another state by `write`, and its slots with it. */
  applyState(key: number, state: RowState, write: () => void): void
  /** Those of a worker that sleep or wait; before they lose their owner. */
  idleWithLimits(worker: string, id?: string): number[]
  releaseSlots(keys: readonly number[]): void
  /** Whether nobody has one of these. */
  areUniqueKeysFree(uses: readonly UniqueUse[]): boolean
  takeUniqueKeys(uses: readonly UniqueUse[], key: number): void
}
