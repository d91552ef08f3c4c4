import { isTerminal } from "../../core/status.ts"
import type { Logger } from "../../ports/host.ts"
import type { IndexChange, IndexShard } from "../../ports/index-shard.ts"
import type { JournalRow } from "../../ports/journal-store.ts"
import type { ObjectTables } from "../../ports/object-tables.ts"
import { Errand } from "./errand.ts"
import type { ShardLayout } from "./shard-layout.ts"

const retryMs = 200
/** An instance that runs is told of after so long: one that ends before is told of once. */
const gatherMs = 100
/** And any other after so long: who waits for what it did is answered first. */
const answerMs = 3

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
  readonly #errand: Errand
  /** Whoever waits for the end of an instance is told as the index is: until it has heard. */
  readonly #onEnded: (id: string) => Promise<void>
  readonly #later: (run: () => void, ms: number) => void
  readonly #changesOf: IndexNewsOf
  /** How long what is gathered waits; none is. */
  #gatherMs = Infinity

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
    this.#errand = new Errand({ now, log, retryMs, failure: "the index was not told" })
  }

  /** When the object has to be awake for it; undefined: the index has heard of all. */
  get nextTryAt(): number | undefined {
    return this.#errand.nextTryAt
  }

  /** Something may have been written. `onDone`: called when the index has it, or is to be told again later. */
  send(onDone: () => void, isRetry = false): void {
    if (!this.#errand.mayBegin(isRetry)) return
    const { wanted, removed } = this.#tables.indexNews()
    if (wanted === undefined && removed === undefined) return this.#errand.restUntil(undefined)
    // Who goes on may soon be elsewhere; who ends or waits is told of soon. An alarm has waited already.
    const isUnderWay = removed === undefined && this.#tables.standing()?.status === "running"
    if (!isRetry) return this.#gather(onDone, isUnderWay ? gatherMs : answerMs)
    this.#errand.begin(
      async () => {
        for (let hasMore = true; hasMore;) hasMore = (await this.#unindex()) || (await this.#index())
        return undefined
      },
      () => this.send(onDone),
      onDone,
    )
  }

  #gather(onDone: () => void, ms: number): void {
    this.#errand.standBy()
    if (this.#gatherMs <= ms) return
    this.#gatherMs = ms
    this.#later(() => {
      this.#gatherMs = Infinity
      this.send(onDone, true)
    }, ms)
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
