import type { ChangeBatch } from "./change-batch.ts"

/** What is kept, in UTF-16 units. A batch that is larger is kept alone. */
const unitsMax = 2_000_000
/** What a change counts beside the message of its error, which may be long. */
const changeUnits = 500

/**
 * The batches of changes that were read last. Followers that are a little behind the others get the same objects without a read of the store,
 * and what was made of them once, such as their bytes, serves all. A batch stays true, as what comes later comes after its cursor; an empty batch
 * is true until something is written. But a batch may have changes of instances that were deleted since: so only followers get it that had joined
 * before it was read.
 */
export class RecentBatches {
  readonly #batches = new Map<string, RecentBatch & { readonly units: number }>()
  #units = 0

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
    const units = unitsOf(batch)
    this.#batches.set(key, { ...recent, units })
    this.#units += units
    for (const oldest of this.#batches.keys()) {
      if (this.#units <= unitsMax || oldest === key) break
      this.#drop(oldest)
    }
    return batch
  }

  forget(): void {
    this.#batches.clear()
    this.#units = 0
  }

  #drop(key: string): void {
    this.#units -= this.#batches.get(key)?.units ?? 0
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

function unitsOf({ changes }: ChangeBatch): number {
  return changes.reduce((sum, { data }) => sum + changeUnits + (data.error?.message.length ?? 0), changeUnits)
}

function keyOf(after: string | undefined, instance: string | undefined): string {
  return JSON.stringify([after ?? 0, instance])
}
