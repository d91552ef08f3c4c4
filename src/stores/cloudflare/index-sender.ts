import { isTerminal } from "../../core/status.ts"
import type { Logger } from "../../ports/host.ts"
import type { IndexChange, IndexShard } from "../../ports/index-shard.ts"
import type { JournalRow } from "../../ports/journal-store.ts"
import type { ObjectTables } from "../../ports/object-tables.ts"
import type { ShardLayout } from "./shard-layout.ts"

const retryMs = 200
const retryMsMax = 60_000
/** An object that goes while a shard is being told is woken after so long. */
const netMs = 10_000
/** An instance that runs is told of after so long: one that ends before is told of once. */
const gatherMs = 100

/** What the index is told of these rows of an instance's journal, after a position. */
export type IndexNewsOf = (instance: string, rows: readonly JournalRow[], after: number) => readonly IndexChange[]

export type ShardWriter = (name: string) => Pick<IndexShard, "indexWrite" | "indexRemove">

/**
 * Tells the index what became of the object's instance: how it is now, and what happened to it since the index last heard. What is not
 * acknowledged is told again, at the latest by the alarm. What comes while a call is under way, or soon after an instance began to run,
 * is told together: the index hears of the last state, and of each change.
 */
export class IndexSender {
  readonly #tables: ObjectTables
  readonly #layout: ShardLayout
  readonly #shard: ShardWriter
  readonly #now: () => number
  readonly #log: Logger
  /** Whoever waits for the end of an instance is told as the index is: until it has heard. */
  readonly #onEnded: (id: string) => Promise<void>
  readonly #later: (run: () => void, ms: number) => void
  readonly #changesOf: IndexNewsOf
  #isSending = false
  #isGathering = false
  #failures = 0
  #nextTryAt: number | undefined

  constructor(
    tables: ObjectTables,
    layout: ShardLayout,
    shard: ShardWriter,
    now: () => number,
    log: Logger,
    onEnded: (id: string) => Promise<void>,
    later: (run: () => void, ms: number) => void,
    changesOf: IndexNewsOf,
  ) {
    this.#changesOf = changesOf
    this.#onEnded = onEnded
    this.#later = later
    this.#tables = tables
    this.#layout = layout
    this.#shard = shard
    this.#now = now
    this.#log = log
  }

  /** When the object has to be awake for it; undefined: the index has heard of all. */
  get nextTryAt(): number | undefined {
    return this.#nextTryAt
  }

  /** Something may have been written. `onDone`: called when the index has it, or is to be told again later. */
  send(onDone: () => void, isRetry = false): void {
    if (this.#isSending || (!isRetry && this.#failures > 0)) return
    const { wanted, removed } = this.#tables.indexNews()
    if (wanted === undefined && removed === undefined) {
      this.#nextTryAt = undefined
      return
    }
    this.#nextTryAt ??= this.#now() + netMs
    // Who goes on may soon be elsewhere; who ends or waits is told of at once. An alarm has waited already.
    const isUnderWay = removed === undefined && this.#tables.standing()?.status === "running"
    if (!isUnderWay || isRetry) return this.#begin(onDone)
    if (this.#isGathering) return
    this.#isGathering = true
    this.#later(() => {
      this.#isGathering = false
      if (!this.#isSending && this.#failures === 0 && this.#tables.indexNews().wanted !== undefined) this.#begin(onDone)
    }, gatherMs)
  }

  #begin(onDone: () => void): void {
    this.#isSending = true
    this.#nextTryAt = this.#now() + netMs
    void this.#sendAll().finally(() => {
      this.#isSending = false
      // What was written since the last look found it under way.
      this.send(onDone)
      onDone()
    })
  }

  async #sendAll(): Promise<void> {
    try {
      for (let hasMore = true; hasMore;) hasMore = (await this.#unindex()) || (await this.#index())
      this.#failures = 0
      this.#nextTryAt = undefined
    } catch (error) {
      const waitMs = Math.min(retryMs * 2 ** Math.min(this.#failures++, 20), retryMsMax)
      this.#nextTryAt = this.#now() + waitMs
      this.#log.warn("an index shard could not be told; trying again", { error, inMs: waitMs })
    }
  }

  async #unindex(): Promise<boolean> {
    const { removed, shard } = this.#tables.indexNews()
    if (removed === undefined) return false
    await this.#shard(shard ?? this.#layout.shardOf(removed.id)).indexRemove([removed])
    this.#tables.unindexed(removed.incarnation)
    return true
  }

  async #index(): Promise<boolean> {
    const { wanted, known, shard } = this.#tables.indexNews()
    const copy = wanted === undefined ? undefined : this.#tables.indexCopy(known + 1)
    if (copy === undefined) return false
    const { row, rows, revision } = copy
    const { id, incarnation } = row
    const target = this.#layout.shardOf(id)
    const from = shard ?? target
    await this.#shard(from).indexWrite([{ row, revision, changes: this.#changesOf(id, rows, known) }])
    // The number of shards has changed: from now on it is in another one. What happened to it so far stays where it was told.
    if (from !== target) {
      await this.#shard(target).indexWrite([{ row, revision, changes: [] }])
      await this.#shard(from).indexRemove([{ id, incarnation, movedAt: revision }])
    }
    if (isTerminal(row.status)) await this.#onEnded(id)
    if (this.#tables.isThere() && this.#tables.standing()?.incarnation === incarnation) this.#tables.indexed(revision, target)
    return true
  }
}
