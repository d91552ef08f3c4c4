import { PerdureError } from "../../core/errors.ts"
import type { Directory } from "../../ports/directory.ts"
import type { Host } from "../../ports/host.ts"
import type { Hint } from "../../ports/store.ts"
import { type ChangeBatch, ChangeDecoder, pageRowsMax } from "./change-batch.ts"
import type { EngineListener } from "../engine-listener.ts"
import { PacedQueue } from "../worker/paced-queue.ts"
import { RecentBatches } from "./recent-batches.ts"
import { FallbackPoll, type FallbackPollOptions } from "../worker/fallback-poll.ts"
import type { Timers } from "../worker/timers.ts"

const storeRetryMs = 1_000
/** Stands for all followers that wait at the tail. One read serves all of them. */
const everyone: ChangeWaiter = { instance: undefined, joined: 0 }
/** How many followers get a batch in one turn of the event loop. Instances go on between two turns. */
const deliveriesMax = 16

/** One follower of the feed. */
export interface ChangeWaiter {
  /** The only instance that the follower is about; undefined if it follows all. */
  readonly instance: string | undefined
  /** How many followers had joined the feed when this follower joined, itself included. */
  readonly joined: number
  /** The follower has left: it gets no more changes. */
  hasLeft?: true
  wake?: ((batch: ChangeBatch | "again" | undefined) => void) | undefined
}

/**
 * Delivers changes to followers. A follower that is behind reads pages of its own, and holds only its current page. Followers that have read everything
 * wait at the tail. After each signal that something was written, one read after the tail serves all of them. Followers at the same place get the same batch object, so that a batch can be encoded once for all of them. Batches are delivered to a few
 * followers per turn of the event loop. What is written while a batch is delivered to many followers goes into their next batch.
 */
export class ChangeFeed implements EngineListener {
  readonly #directory: Directory
  readonly #host: Host
  readonly #timers: Timers
  readonly #decoder = new ChangeDecoder()
  readonly #fallbackPoll: FallbackPoll
  readonly #waiting = new Map<ChangeWaiter, string>()
  readonly #deliveries: PacedQueue
  readonly #recent = new RecentBatches()
  /** The reads under way. Followers at the same place share one read. */
  readonly #underWay = new Map<string, Promise<ChangeBatch>>()
  /** The cursor up to which all waiting followers have the changes. Undefined while no follower waits. */
  #tail: string | undefined
  #signals = 0
  /** The value of `#signals` before the last read after the tail. */
  #seenSignals = 0
  #passing: Promise<void> | undefined
  #isReadingTail = false
  #readers = 0
  #joined = 0
  #closed = false
  #gone: PerdureError | undefined

  constructor(directory: Directory, host: Host, pollOptions: FallbackPollOptions) {
    this.#directory = directory
    this.#host = host
    this.#timers = pollOptions.timers
    this.#deliveries = new PacedQueue(host, deliveriesMax, false)
    this.#fallbackPoll = new FallbackPoll(pollOptions, () => this.signal())
  }

  /** Something was written, in this process or in another one. */
  signal(): void {
    this.#signals++
    if (this.#waiting.size > 0 && !this.#isReadingTail) void this.#readTail()
  }

  onCommit(): void {
    this.signal()
  }

  onHint({ changed }: Hint): void {
    if (changed) this.signal()
  }

  /** True if no read and no delivery is under way. */
  get idle(): boolean {
    return !this.#isReadingTail && this.#deliveries.idle
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** The error of a store that is gone. */
  get gone(): PerdureError | undefined {
    return this.#gone
  }

  /** Ends the iterations of all followers. If the store is gone, they reject instead. */
  close(refusal?: unknown): void {
    this.#closed = true
    if (PerdureError.is(refusal, "DATABASE_GONE")) this.#gone = refusal
    for (const waiter of this.#waiting.keys()) this.#wake(waiter, undefined)
  }

  join(instance: string | undefined): ChangeWaiter {
    this.#readers++
    return { instance, joined: ++this.#joined }
  }

  leave(waiter: ChangeWaiter): void {
    if (--this.#readers === 0) {
      this.#decoder.forget()
      this.#recent.forget()
    }
    waiter.hasLeft = true
    this.#wake(waiter, undefined)
  }

  /** Resolves with the changes after the place as soon as there are any. Resolves with undefined at the end of the iteration. */
  async next(after: string | undefined, waiter: ChangeWaiter): Promise<ChangeBatch | undefined> {
    for (;;) {
      // A follower that reads many pages must not block the event loop.
      await this.#macrotask()
      if (this.#closed || waiter.hasLeft) return this.#end(waiter)
      let woken: ChangeBatch | "again" | undefined
      // A follower at the tail does not read: the next read after the tail serves it.
      if (after !== undefined && after === this.#tail) woken = await this.#wait(waiter, after)
      else {
        await this.#deliveries.enter()
        const signals = this.#signals
        const tail = this.#tail
        const batch = await this.#readOrWait(after, waiter)
        if (batch === undefined || this.#closed || waiter.hasLeft) return this.#end(waiter)
        if (batch !== "again" && !batch.isEmpty) return batch
        // A change that was written during the read may be missing in it. It may also have been delivered before this follower waits.
        if (batch === "again" || signals !== this.#signals || tail !== this.#tail) continue
        woken = await this.#wait(waiter, batch.cursor)
      }
      if (woken === "again") continue
      if (woken !== undefined) await this.#deliveries.enter()
      return woken === undefined || this.#closed || waiter.hasLeft ? this.#end(waiter) : woken
    }
  }

  #end(waiter: ChangeWaiter): undefined {
    if (this.#gone && !waiter.hasLeft) throw this.#gone
  }

  async latest(): Promise<string> {
    return this.#directory.latestChange()
  }

  /** True if the store has the instance. */
  async has(instance: string): Promise<boolean> {
    return (await this.#directory.get(instance)) !== undefined
  }

  async #readOrWait(after: string | undefined, waiter: ChangeWaiter): Promise<ChangeBatch | "again" | undefined> {
    try {
      return await this.#read(after, waiter)
    } catch (error) {
      if (this.#closed || waiter.hasLeft) return undefined
      if (isFinal(error)) throw error
      this.#host.log.error("changes could not be read; trying again", { error })
      return new Promise((resolve) => {
        const timer = this.#timers.after(storeRetryMs, () => this.#wake(waiter, "again"))
        waiter.wake = (batch) => {
          this.#timers.clear(timer)
          resolve(batch)
        }
      })
    }
  }

  #read(after: string | undefined, { instance, joined }: ChangeWaiter): Promise<ChangeBatch> {
    // A read that began before a signal or a delivery does not serve a follower that comes after it.
    const moment = `${this.#signals} ${this.#tail ?? ""}`
    const key = JSON.stringify([after ?? 0, instance, moment])
    const underWay = this.#underWay.get(key)
    if (underWay) return underWay
    const recent = this.#recent.after(after, instance, joined, moment)
    if (recent) return Promise.resolve(recent)
    const joinedBefore = this.#joined
    const reading = this.#directory
      .changes(after, pageRowsMax, instance)
      .then((page) => this.#recent.keep(after, instance, { batch: this.#decoder.decode(after, page), joined: joinedBefore, moment }))
      .finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, reading)
    return reading
  }

  #wait(waiter: ChangeWaiter, at: string): Promise<ChangeBatch | "again" | undefined> {
    if (this.#tail === undefined) {
      this.#tail = at
      this.#seenSignals = this.#signals
    }
    this.#waiting.set(waiter, at)
    this.#fallbackPoll.restart()
    const woken = new Promise<ChangeBatch | "again" | undefined>((resolve) => {
      waiter.wake = resolve
    })
    if (this.#seenSignals !== this.#signals && !this.#isReadingTail) void this.#readTail()
    return woken
  }

  #wake(waiter: ChangeWaiter, batch: ChangeBatch | "again" | undefined): void {
    this.#waiting.delete(waiter)
    if (this.#waiting.size === 0) {
      this.#tail = undefined
      this.#fallbackPoll.stop()
    }
    const { wake } = waiter
    waiter.wake = undefined
    wake?.(batch)
  }

  async #readTail(): Promise<void> {
    this.#isReadingTail = true
    try {
      do {
        // Changes that are written during this macrotask are read together.
        await this.#macrotask()
        this.#seenSignals = this.#signals
        while (await this.#deliverPage());
      } while (this.#waiting.size > 0 && this.#seenSignals !== this.#signals)
    } catch (error) {
      // Each follower reads again for itself, and gets the error from its own read.
      if (isFinal(error)) for (const waiter of [...this.#waiting.keys()]) this.#wake(waiter, "again")
      else if (!this.#closed) {
        this.#host.log.error("changes could not be read; trying again", { error })
        this.#timers.after(storeRetryMs, () => this.signal())
      }
    } finally {
      this.#isReadingTail = false
      if (this.#waiting.size > 0) this.#fallbackPoll.continue()
    }
  }

  /** Reads one page after the tail and delivers it. Returns false if there is none, or if no follower waits. */
  async #deliverPage(): Promise<boolean> {
    const tail = this.#tail
    if (tail === undefined) return false
    const batch = await this.#read(tail, everyone)
    if (this.#tail !== tail || batch.isEmpty) return false
    this.#tail = batch.cursor
    for (const [waiter, at] of [...this.#waiting]) {
      if (waiter.instance === undefined) this.#wake(waiter, at === tail ? batch : "again")
      else if (batch.instances.has(waiter.instance)) this.#wake(waiter, "again")
    }
    return true
  }

  /** One macrotask for all followers, so that followers at the same place read together. */
  #macrotask(): Promise<void> {
    this.#passing ??= new Promise((resolve) =>
      this.#host.quiesce(() => {
        this.#passing = undefined
        resolve()
      }),
    )
    return this.#passing
  }
}

/** True if another try cannot succeed. */
function isFinal(error: unknown): boolean {
  return PerdureError.is(error, "BAD_OPTION") || PerdureError.is(error, "DATABASE_GONE") || PerdureError.is(error, "DATABASE_CORRUPT")
}
