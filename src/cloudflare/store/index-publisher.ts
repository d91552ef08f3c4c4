import { isTerminal } from "../../core/journal/status.ts"
import type { Logger } from "../../ports/host.ts"
import type { IndexChange, IndexShard } from "../../ports/cloudflare/index-shard.ts"
import type { JournalRow } from "../../ports/journal-store.ts"
import type { ObjectTables } from "../../ports/cloudflare/object-tables.ts"
import { RetryingTask } from "./retrying-task.ts"
import type { ShardLayout } from "./shard-layout.ts"

const retryMs = 200
/** Who ends or rests is told of after so long: whoever waits for what it did is answered first. */
const answerMs = 3
/** One that still runs then is told of after so much longer: if it ends before, it is told of once. */
const gatherMs = 100

/** A caller that deletes an instance waits at most so long for the index. */
const deletionMsMax = 5_000

const nothing = { pendingUpTo: undefined, removed: [] }

/** What the index is told of these rows of an instance's journal, after a position. */
export type IndexNewsOf = (instance: string, rows: readonly JournalRow[], after: number) => readonly IndexChange[]

export type ShardWriter = (name: string) => Pick<IndexShard, "indexWrite" | "indexRemove">

export interface IndexPublisherOptions {
  readonly tables: ObjectTables
  readonly layout: ShardLayout
  readonly shardOf: ShardWriter
  readonly now: () => number
  readonly log: Logger
  /** Whoever waits for the end of an instance is told as the index is: until it has heard. */
  readonly onEnded: (id: string) => Promise<void>
  /** Gives what cancels the timer. */
  readonly later: (run: () => void, ms: number) => () => void
  readonly changesOf: IndexNewsOf
}

/**
 * Tells the index what became of the object's instance: how it is now, and what happened to it since the index last heard. What is not
 * acknowledged is told again, at the latest by the alarm. What comes while a call is under way, or soon after an instance began to run,
 * is told together: the index hears of the last state, and of each change.
 */
export class IndexPublisher {
  readonly #spec: IndexPublisherOptions
  readonly #task: RetryingTask
  /** How long the timer takes that is waited for; 0: there is none. */
  #timerMs = 0

  constructor(spec: IndexPublisherOptions) {
    this.#spec = spec
    this.#task = new RetryingTask({ ...spec, retryMs, failure: "the index was not told" })
  }

  /** When the object has to be awake for it; undefined: the index has heard of all. */
  get retryAt(): number | undefined {
    return this.#task.retryAt
  }

  /** Something may have been written. `onDone`: called when the index has it, or is to be told again later. */
  send(onDone: () => void, isRetry = false): void {
    if (!this.#task.tryStart(isRetry)) return
    const { tables } = this.#spec
    // A timer may outlive an object that was emptied meanwhile.
    const { pendingUpTo, removed } = tables.isThere() ? tables.indexNews() : nothing
    if (pendingUpTo === undefined && removed.length === 0) return this.#task.idleUntil()
    // An alarm has waited already. Most instances end before the first timer goes off: then it is the only one.
    if (!isRetry) {
      this.#task.armBackup()
      if (this.#timerMs !== answerMs && !(this.#timerMs && this.#isUnderWay)) this.#wait(onDone, answerMs)
      return
    }
    this.#task.begin(
      async () => {
        for (let hasMore = true; hasMore;) hasMore = (await this.#unindex()) || (await this.#index())
        return undefined
      },
      () => this.send(onDone),
      onDone,
    )
  }

  /**
   * Tells the index at once that the instance is deleted. True: the index has forgotten it. False: a shard failed or did not answer in time; the
   * removal is noted, and the alarm sends it again.
   */
  async tellDeletion(onDone: () => void): Promise<boolean> {
    let cancel = () => {}
    const isLate = new Promise<void>((resolve) => {
      cancel = this.#spec.later(resolve, deletionMsMax)
    })
    await Promise.race([this.#sendDeletion(onDone), isLate])
    cancel()
    return !this.#owesDeletion
  }

  /** Twice: a call that was under way may have begun before the deletion was noted. */
  async #sendDeletion(onDone: () => void): Promise<void> {
    for (let tries = 0; tries < 2 && this.#owesDeletion; tries++) {
      this.send(onDone, true)
      await this.#task.last
    }
  }

  get #owesDeletion(): boolean {
    const { tables } = this.#spec
    return tables.isThere() && tables.indexNews().removed.length > 0
  }

  #wait(onDone: () => void, ms: number): void {
    this.#timerMs = ms
    this.#spec.later(() => {
      this.#timerMs = 0
      if (ms === answerMs && this.#isUnderWay) this.#wait(onDone, gatherMs)
      else this.send(onDone, true)
    }, ms)
  }

  /** Who goes on may soon be elsewhere. */
  get #isUnderWay(): boolean {
    return this.#spec.tables.summary()?.status === "running"
  }

  async #unindex(): Promise<boolean> {
    const { removed, shard } = this.#spec.tables.indexNews()
    const [first] = removed
    if (first === undefined) return false
    const target = this.#spec.layout.shardOf(first.id)
    // A move that failed in between may have left it in both.
    for (const name of new Set([shard ?? target, target])) await this.#spec.shardOf(name).indexRemove(removed)
    this.#spec.tables.unindexed(removed)
    return true
  }

  async #index(): Promise<boolean> {
    const { pendingUpTo, indexedUpTo, shard } = this.#spec.tables.indexNews()
    const copy = pendingUpTo === undefined ? undefined : this.#spec.tables.indexCopy(indexedUpTo + 1)
    if (copy === undefined) return false
    const { row, rows, revision } = copy
    const { id, incarnation } = row
    const target = this.#spec.layout.shardOf(id)
    const from = shard ?? target
    // Durable before it is told, as nothing leaves an object before: else it could hold what nobody remembers to have told it.
    if (shard === undefined) this.#spec.tables.indexed(indexedUpTo, target)
    await this.#spec.shardOf(from).indexWrite([{ row, revision, changes: this.#spec.changesOf(id, rows, indexedUpTo) }])
    // The number of shards has changed: from now on it is in another one. What happened to it so far stays where it was told.
    if (from !== target) {
      await this.#spec.shardOf(target).indexWrite([{ row, revision, changes: [] }])
      await this.#spec.shardOf(from).indexRemove([{ id, incarnation, movedAt: revision }])
    }
    if (isTerminal(row.status)) await this.#spec.onEnded(id)
    // It may be gone by now.
    if (this.#spec.tables.summary()?.incarnation === incarnation) this.#spec.tables.indexed(revision, target)
    return true
  }
}
