import type { UniqueUse } from "../../../ports/flow-control.ts"
import type { RowState } from "../../../ports/journal-store.ts"

/** What claims and turns need of flow control, within their transactions. */
export interface TurnFlow {
  /** Runs a write transaction. After the commit, listeners get the ids of the instances that were admitted. */
  transaction<T>(fn: () => T): T
  /** How many instances the open transaction has admitted. */
  readonly admittedCount: number
  /** Takes the slots that an instance needs before it is claimed. Undefined: the instance queues for a slot, and must not be claimed yet. */
  tryAdmit(key: number, now: number): "taken" | "queuedForSlot" | "none" | undefined
  /** Releases the debounce keys of an instance that is claimed because it is due: no later start replaces its input from now on. */
  releaseDebounceKeys(key: number, uniques: string | undefined, dueAt: number | undefined, now: number): void
  isQueued(key: number): boolean
  isOwnedBy(key: number, worker: string): boolean
  /** Releases and takes unique keys as the new state requires. False: another instance has a key that a restart needs. */
  updateUniqueKeys(key: number, state: RowState): boolean
  /** Calls `write`, which stores the new state of an instance with limits, and then updates the slots of the instance. */
  applyState(key: number, state: RowState, write: () => void): void
  /** Keys of a worker's instances with limits that sleep or wait. Call this before these instances lose their owner. */
  idleWithLimits(worker: string, id?: string): number[]
  releaseSlots(keys: readonly number[]): void
  /** Whether no instance has one of these keys. */
  areUniqueKeysFree(uses: readonly UniqueUse[]): boolean
  takeUniqueKeys(uses: readonly UniqueUse[], key: number): void
}
