import type { ChangeBatch } from "./change-batch.ts"

/** The size of all kept batches, in UTF-16 units. A larger batch is kept alone. */
const unitsMax = 2_000_000
/** The size of a change without the message of its error, which may be long. */
const changeUnits = 500

/**
 * A cache of the batches of changes that were read last. Followers that are slightly behind get the same objects without a read of the store, and share
 * the bytes that a batch was encoded into. A batch stays valid, because later changes come after its cursor. An empty batch is valid until something is
 * written. A batch may have changes of instances that were deleted since, so only followers get it that had joined before it was read.
 */
export class RecentBatches {
  readonly #batches = new Map<string, RecentBatch & { readonly units: number }>()
  #units = 0

  /** `joined` is how many followers had joined when the asking follower did. An empty batch is valid only in the moment in which it was read. */
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
  /** How many followers had joined when the batch was read. */
  readonly joined: number
  /** A token that changes when something is written or delivered. */
  readonly moment: string
}

function unitsOf({ changes }: ChangeBatch): number {
  return changes.reduce((sum, { data }) => sum + changeUnits + (data.error?.message.length ?? 0), changeUnits)
}

function keyOf(after: string | undefined, instance: string | undefined): string {
  return JSON.stringify([after ?? 0, instance])
}
