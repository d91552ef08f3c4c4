import { isTerminal } from "../../core/journal/status.ts"
import type { Logger } from "../../ports/host.ts"
import type { IndexShard } from "../../ports/cloudflare/index-shard.ts"
import type { ObjectTables } from "../../ports/cloudflare/object-tables.ts"
import { instanceChanges } from "./instance-changes.ts"
import { RetryingTask } from "./retrying-task.ts"
import type { ShardLayout } from "./shard-layout.ts"

const retryMs = 200
/** An instance that ended or sleeps is published after this time, so that callers get their answers first. */
const firstDelayMs = 3
/** An instance that is still running then is published after this further time. If it ends before that, it is published once. */
const runningDelayMs = 100

/** A caller that deletes an instance waits at most this long for the index. */
const removalWaitMsMax = 5_000

const nothing = { pendingUpTo: undefined, removed: [] }

export type ShardWriter = (name: string) => Pick<IndexShard, "indexWrite" | "indexRemove">

export interface IndexPublisherOptions {
  readonly tables: ObjectTables
  readonly layout: ShardLayout
  readonly shardOf: ShardWriter
  readonly now: () => number
  readonly log: Logger
  /** Notifies the schedule that waits for the end of the instance. If it rejects, it is called again. */
  readonly onEnded: (id: string) => Promise<void>
  /** Starts a timer, and returns the function that cancels it. */
  readonly setTimer: (run: () => void, ms: number) => () => void
}

/**
 * Publishes the object's instance to its index shard: its row, and its changes since the shard's last acknowledgement. A call that fails is repeated,
 * at the latest by the object's alarm. Turns that are written while a call or a timer is pending are published together: the last row, and every change.
 */
export class IndexPublisher {
  readonly #options: IndexPublisherOptions
  readonly #task: RetryingTask
  /** The delay of the timer that is set; 0: no timer is set. */
  #timerMs = 0

  constructor(options: IndexPublisherOptions) {
    this.#options = options
    this.#task = new RetryingTask({ ...options, retryMs, failure: "the index was not told" })
  }

  /** When the alarm has to call `send`. Undefined: the index has everything. */
  get retryAt(): number | undefined {
    return this.#task.retryAt
  }

  /** Publishes pending turns and removals, if there are any. `onDone`: called when the index has acknowledged them, and after a failure. */
  send(onDone: () => void, isRetry = false): void {
    if (!this.#task.tryStart(isRetry)) return
    const { tables } = this.#options
    // A timer may fire after the object's storage was deleted.
    const { pendingUpTo, removed } = tables.isThere() ? tables.indexBacklog() : nothing
    if (pendingUpTo === undefined && removed.length === 0) return this.#task.idleUntil()
    // A retry does not wait. Most instances end before the first timer fires, so they need no second one.
    if (!isRetry) {
      this.#task.armBackup()
      if (this.#timerMs !== firstDelayMs && !(this.#timerMs && this.#isRunning)) this.#sendAfter(onDone, firstDelayMs)
      return
    }
    this.#task.begin(
      async () => {
        for (let hasMore = true; hasMore;) hasMore = (await this.#publishRemovals()) || (await this.#publishInstance())
        return undefined
      },
      () => this.send(onDone),
      onDone,
    )
  }

  /**
   * Tells the index at once that the instance is deleted. True: the index has removed it. False: a shard failed or did not answer in time. The
   * removal is stored, and the alarm sends it again.
   */
  async publishRemoval(onDone: () => void): Promise<boolean> {
    let cancel = () => {}
    const isLate = new Promise<void>((resolve) => {
      cancel = this.#options.setTimer(resolve, removalWaitMsMax)
    })
    await Promise.race([this.#sendRemoval(onDone), isLate])
    cancel()
    return !this.#hasPendingRemoval
  }

  /** Sends twice if necessary: a run that was active may have started before the removal was stored. */
  async #sendRemoval(onDone: () => void): Promise<void> {
    for (let tries = 0; tries < 2 && this.#hasPendingRemoval; tries++) {
      this.send(onDone, true)
      await this.#task.settled
    }
  }

  get #hasPendingRemoval(): boolean {
    const { tables } = this.#options
    return tables.isThere() && tables.indexBacklog().removed.length > 0
  }

  #sendAfter(onDone: () => void, ms: number): void {
    this.#timerMs = ms
    this.#options.setTimer(() => {
      this.#timerMs = 0
      if (ms === firstDelayMs && this.#isRunning) this.#sendAfter(onDone, runningDelayMs)
      else this.send(onDone, true)
    }, ms)
  }

  /** A running instance will soon have another state to publish. */
  get #isRunning(): boolean {
    return this.#options.tables.summary()?.status === "running"
  }

  async #publishRemovals(): Promise<boolean> {
    const { removed, shard } = this.#options.tables.indexBacklog()
    const [first] = removed
    if (first === undefined) return false
    const target = this.#options.layout.shardOf(first.id)
    // If a move between shards failed halfway, both shards list the instance.
    for (const name of new Set([shard ?? target, target])) await this.#options.shardOf(name).indexRemove(removed)
    this.#options.tables.markRemoved(removed)
    return true
  }

  async #publishInstance(): Promise<boolean> {
    const { pendingUpTo, indexedUpTo, shard } = this.#options.tables.indexBacklog()
    const copy = pendingUpTo === undefined ? undefined : this.#options.tables.indexCopy(indexedUpTo + 1)
    if (copy === undefined) return false
    const { row, rows, revision } = copy
    const { id, incarnation } = row
    const target = this.#options.layout.shardOf(id)
    const from = shard ?? target
    // The shard's name is stored before the call. Otherwise a shard could list an instance whose object does not know that shard.
    if (shard === undefined) this.#options.tables.markIndexed(indexedUpTo, target)
    await this.#options.shardOf(from).indexWrite([{ row, revision, changes: instanceChanges(id, rows, indexedUpTo) }])
    // The number of shards has changed, so the instance moves to another shard. Its changes so far stay in the old shard.
    if (from !== target) {
      await this.#options.shardOf(target).indexWrite([{ row, revision, changes: [] }])
      await this.#options.shardOf(from).indexRemove([{ id, incarnation, movedAt: revision }])
    }
    if (isTerminal(row.status)) await this.#options.onEnded(id)
    // The instance may have been deleted meanwhile.
    if (this.#options.tables.summary()?.incarnation === incarnation) this.#options.tables.markIndexed(revision, target)
    return true
  }
}
