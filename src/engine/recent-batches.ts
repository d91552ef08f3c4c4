import type { ChangeBatch } from "./change-batch.ts"

/** How many changes are kept. A batch with more of them is kept alone. */
const changesMax = 2_000

/**
 * The batches of changes that were read last. Followers that are a little behind the others get the same objects without a read of the store,
 * and what was made of them once, such as their bytes, serves all. A batch stays true, as what comes later comes after its cursor; an empty one is true until something is written. But it may have
 * changes of instances that were deleted since: so only followers get it that had joined before it was read.
 */
export class RecentBatches {
  readonly #batches = new Map<string, RecentBatch>()
  #changes = 0

  /** `joined`: how many followers had joined when the one that asks did. `moment`: an empty batch of another moment is not true any more. */
  after(after: string | undefined, instance: string | undefined, joined: number, moment: string): ChangeBatch | undefined {
    const recent = this.#batches.get(keyOf(after, instance))
    if (recent === undefined || recent.joined < joined) return undefined
    return recent.batch.isEmpty && recent.moment !== moment ? undefined : recent.batch
  }

  keep(after: string | undefined, instance: string | undefined, recent: RecentBatch): ChangeBatch {
    const { batch } = recent
    const key = keyOf(after, instance)
    this.#drop(key)
    this.#batches.set(key, recent)
    this.#changes += sizeOf(recent)
    for (const oldest of this.#batches.keys()) {
      if (this.#changes <= changesMax || oldest === key) break
      this.#drop(oldest)
    }
    return batch
  }

  forget(): void {
    this.#batches.clear()
    this.#changes = 0
  }

  #drop(key: string): void {
    this.#changes -= sizeOf(this.#batches.get(key))
    this.#batches.delete(key)
  }
}

export interface RecentBatch {
  readonly batch: ChangeBatch
  /** How many followers had joined when it was read. */
  readonly joined: number
  /** Tells the state that it was read in from the state after something was written or handed out. */
  readonly moment: string
}

function sizeOf(recent: RecentBatch | undefined): number {
  return recent ? Math.max(1, recent.batch.changes.length) : 0
}

function keyOf(after: string | undefined, instance: string | undefined): string {
  return JSON.stringify([after ?? 0, instance])
}
