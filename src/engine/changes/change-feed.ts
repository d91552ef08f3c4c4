import { PerdureError } from "../../core/errors.ts"
import type { Directory } from "../../ports/directory.ts"
import type { Host } from "../../ports/host.ts"
import type { Hint } from "../../ports/store.ts"
import { type ChangeBatch, ChangeReading, pageRows } from "./change-batch.ts"
import type { EngineListener } from "../engine-listener.ts"
import { PacedQueue } from "../worker/paced-queue.ts"
import { RecentBatches } from "./recent-batches.ts"
import { FallbackPoll, type FallbackPollOptions } from "../worker/fallback-poll.ts"
import type { Timers } from "../worker/timers.ts"

const storeRetryMs = 1_000
/** Stands for all followers that wait at the tail, in a read for all of them. */
const everyone: ChangeWaiter = { instance: undefined, joined: 0 }
/** How many followers are given a batch in one turn of the event loop. The work of instances goes on between two turns. */
const deliveriesMax = 16

/** Somebody who has read all there was and waits for more. */
export interface ChangeWaiter {
  /** Of this one only. */
  readonly instance: string | undefined
  /** How many followers had joined the feed when this follower joined, itself included. */
  readonly joined: number
  /** It is told no more, also where it has not begun to wait. */
  hasLeft?: true
  wake?: ((batch: ChangeBatch | "again" | undefined) => void) | undefined
}

/**
 * Hands changes to whoever follows them. Those who are behind read pages for themselves, and hold nothing but the page they are in. Those
 * who wait cost nothing: one look at what came after the tail, for all of them together, follows each signal that something was written.
 * Followers at the same place get the same batch object, so that a batch can be encoded once for all of them. Batches are delivered to a few
 * followers per turn of the event loop. What is written while a batch is delivered to many followers goes into their next batch.
 */
export class ChangeFeed implements EngineListener {
  readonly #directory: Directory
  readonly #host: Host
  readonly #timers: Timers
  readonly #reading = new ChangeReading()
  readonly #fallbackPoll: FallbackPoll
  readonly #waiting = new Map<ChangeWaiter, string>()
  readonly #deliveries: PacedQueue
  readonly #recent = new RecentBatches()
  /** Pages that are being read: many who stand at the same place ask once. */
  readonly #underWay = new Map<string, Promise<ChangeBatch>>()
  /** All that came up to here was handed to those who wait, whenever they began to. Undefined: nobody waits. */
  #tail: string | undefined
  #signals = 0
  /** The value of `#signals` before the last look at what came after the tail. */
  #seenSignals = 0
  #passing: Promise<void> | undefined
  #looking = false
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

  /** Something was written, here or elsewhere. */
  signal(): void {
    this.#signals++
    if (this.#waiting.size > 0 && !this.#looking) void this.#look()
  }

  onCommit(): void {
    this.signal()
  }

  onHint({ changed }: Hint): void {
    if (changed) this.signal()
  }

  /** Nothing is left to deliver or to read that only waits for a turn of the event loop. */
  get idle(): boolean {
    return !this.#looking && this.#deliveries.idle
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** The store is gone; undefined: it is not. */
  get gone(): PerdureError | undefined {
    return this.#gone
  }

  /** Whoever waits is told that there will be no more; or that the store is gone, which is no regular end. */
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
      this.#reading.forget()
      this.#recent.forget()
    }
    waiter.hasLeft = true
    this.#wake(waiter, undefined)
  }

  /** What comes after the place, as soon as there is something. Undefined: nothing will. */
  async next(after: string | undefined, waiter: ChangeWaiter): Promise<ChangeBatch | undefined> {
    for (;;) {
      // Whoever reads much must not keep the others from their turn.
      await this.#macrotask()
      if (this.#closed || waiter.hasLeft) return this.#end(waiter)
      let woken: ChangeBatch | "again" | undefined
      // A follower at the tail need not read: the next look at the store is for all who wait there.
      if (after !== undefined && after === this.#tail) woken = await this.#wait(waiter, after)
      else {
        await this.#deliveries.enter()
        const signals = this.#signals
        const tail = this.#tail
        const batch = await this.#readOrWait(after, waiter)
        if (batch === undefined || this.#closed || waiter.hasLeft) return this.#end(waiter)
        if (batch !== "again" && !batch.isEmpty) return batch
        // Whatever was written since the look began may not have been in it, and may have been handed out before this one waits.
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

  /** Whether the instance is there at all. */
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
    // One that began before something was written, or handed out, is not for those who come after that.
    const moment = `${this.#signals} ${this.#tail ?? ""}`
    const key = JSON.stringify([after ?? 0, instance, moment])
    const underWay = this.#underWay.get(key)
    if (underWay) return underWay
    const recent = this.#recent.after(after, instance, joined, moment)
    if (recent) return Promise.resolve(recent)
    const joinedBefore = this.#joined
    const reading = this.#directory
      .changes(after, pageRows, instance)
      .then((page) => this.#recent.keep(after, instance, { batch: this.#reading.batch(after, page), joined: joinedBefore, moment }))
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
    if (this.#seenSignals !== this.#signals && !this.#looking) void this.#look()
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

  async #look(): Promise<void> {
    this.#looking = true
    try {
      do {
        // What is written meanwhile is looked at together with it.
        await this.#macrotask()
        this.#seenSignals = this.#signals
        while (await this.#handOut());
      } while (this.#waiting.size > 0 && this.#seenSignals !== this.#signals)
    } catch (error) {
      // Whoever it is for is told by a look of its own; the others wait on.
      if (isFinal(error)) for (const waiter of [...this.#waiting.keys()]) this.#wake(waiter, "again")
      else if (!this.#closed) {
        this.#host.log.error("changes could not be read; trying again", { error })
        this.#timers.after(storeRetryMs, () => this.signal())
      }
    } finally {
      this.#looking = false
      if (this.#waiting.size > 0) this.#fallbackPoll.continue()
    }
  }

  /** False: there is no more, or nobody waits. */
  async #handOut(): Promise<boolean> {
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

  /** The same one for all: then those who stand at the same place ask together. */
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

/** Trying again does not help. */
function isFinal(error: unknown): boolean {
  return PerdureError.is(error, "BAD_OPTION") || PerdureError.is(error, "DATABASE_GONE") || PerdureError.is(error, "DATABASE_CORRUPT")
}
