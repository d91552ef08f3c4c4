import { MinHeap } from "../../core/collections/min-heap.ts"
import type { Host } from "../../ports/host.ts"

/** Of the timers in a heap, so many may be cleared ones; beyond, where they are most of it, it is built anew. */
const clearedMax = 64

/**
 * Any number of volatile timers over one timer of the host. There are two kinds, because the time of an engine may jump: the clock of a store may be
 * set, and so may the clock of a machine.
 *
 *   set(at)     fires when the time of the engine is `at`, whatever happens to its clock: for what is due in the store
 *   after(ms)   fires when so much time has passed by the monotonic clock: for patience, retries, renewals and timeouts
 *
 * Nobody tells of a jump. It is noticed when a timer fires, such as that of the next renewal, or another is set.
 */
export class Timers {
  readonly #host: Host
  readonly #instants = new TimerHeap()
  readonly #durations = new TimerHeap()
  #order = 0
  /** By the monotonic clock: when the host's timer fires. */
  #scheduledFor = Infinity
  #cancelHostTimer: (() => void) | undefined
  #isClosed = false

  constructor(host: Host) {
    this.#host = host
  }

  /** For tests: how many are in the heaps, cleared ones included. */
  get size(): number {
    return this.#instants.size + this.#durations.size
  }

  set(at: number, fire: () => void): TimerHandle {
    return this.#add(this.#instants, at, fire)
  }

  after(ms: number, fire: () => void): TimerHandle {
    return this.#add(this.#durations, this.#host.monotonicMs() + ms, fire)
  }

  /** How long it takes until it fires. */
  remainingMs({ heap, at }: TimerHandle): number {
    return at - (heap === this.#instants ? this.#host.now() : this.#host.monotonicMs())
  }

  /**
   * A cleared timer stays in its heap for a while, without what it would have called. Where no other is left, the host is told: a Durable Object
   * that has a timer does not leave memory.
   */
  clear(handle: TimerHandle | undefined): void {
    if (handle?.fire === undefined) return
    handle.fire = undefined
    handle.heap.onCleared()
    if (this.#instants.isEmpty && this.#durations.isEmpty) this.#stop()
  }

  close(): void {
    this.#isClosed = true
    this.#stop()
  }

  /** Nothing is set any more once they are closed. */
  #add(heap: TimerHeap, at: number, fire: () => void): TimerHandle {
    if (this.#isClosed) return { heap, at, order: 0, fire: undefined }
    const handle: TimerHandle = { heap, at, order: this.#order++, fire }
    heap.push(handle)
    const next = this.#next()
    if (next !== undefined) this.#scheduleIn(this.remainingMs(next))
    return handle
  }

  #stop(): void {
    this.#cancelHostTimer?.()
    this.#instants.empty()
    this.#durations.empty()
    this.#scheduledFor = Infinity
  }

  /** An earlier timer of the host does no harm: it looks, and sets the next. */
  #scheduleIn(leftMs: number): void {
    const at = this.#host.monotonicMs() + leftMs
    if (at >= this.#scheduledFor) return
    this.#cancelHostTimer?.()
    this.#scheduledFor = at
    // The host's timers have whole milliseconds, and none of them may fire for nothing.
    this.#cancelHostTimer = this.#host.setTimer(Math.min(this.#host.now() + Math.ceil(leftMs), Number.MAX_SAFE_INTEGER), this.#fire)
  }

  /** The first to fire; of those that fire together the one that was set first. */
  #next(): TimerHandle | undefined {
    const instant = this.#instants.first()
    const duration = this.#durations.first()
    if (instant === undefined || duration === undefined) return instant ?? duration
    const aheadMs = this.remainingMs(duration) - this.remainingMs(instant)
    return aheadMs > 0 || (aheadMs === 0 && instant.order < duration.order) ? instant : duration
  }

  readonly #fire = (): void => {
    this.#scheduledFor = Infinity
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const leftMs = this.remainingMs(next)
      // The monotonic clock has fractions of milliseconds, which no timer waits for.
      if (leftMs >= 1) return this.#scheduleIn(leftMs)
      next.heap.takeFirst()
      this.#call(next)
    }
  }

  /** One that throws must not keep the others from firing. */
  #call(handle: TimerHandle): void {
    const { fire } = handle
    handle.fire = undefined
    try {
      fire?.()
    } catch (error) {
      this.#host.log.error("what a timer called failed", { error })
    }
  }
}

/** Timers of one kind. */
class TimerHeap {
  #heap = emptyHeap()
  #cleared = 0

  get size(): number {
    return this.#heap.size
  }

  /** All that are left are cleared. */
  get isEmpty(): boolean {
    return this.#cleared === this.#heap.size
  }

  push(handle: TimerHandle): void {
    this.#heap.push(handle)
  }

  first(): TimerHandle | undefined {
    for (;;) {
      const first = this.#heap.peek()
      if (first === undefined || first.fire !== undefined) return first
      this.#heap.pop()
      this.#cleared--
    }
  }

  takeFirst(): void {
    this.#heap.pop()
  }

  onCleared(): void {
    this.#cleared++
    if (this.#cleared <= clearedMax || this.#cleared <= this.#heap.size / 2) return
    const live = emptyHeap()
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop()) if (next.fire !== undefined) live.push(next)
    this.#heap = live
    this.#cleared = 0
  }

  empty(): void {
    this.#heap = emptyHeap()
    this.#cleared = 0
  }
}

function emptyHeap(): MinHeap<TimerHandle> {
  return new MinHeap((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))
}

/** One timer that is moved about. */
export class MovableTimer {
  readonly #timers: Timers
  readonly #fire: () => void
  /** The instant that it was set to; undefined also where it was set to a duration. */
  #at: number | undefined
  #handle: TimerHandle | undefined

  constructor(timers: Timers, fire: () => void) {
    this.#timers = timers
    this.#fire = fire
  }

  /** Undefined: not at all. */
  setTo(at: number | undefined): void {
    if (at !== undefined && at === this.#at) return
    this.clear()
    if (at === undefined) return
    this.#at = at
    this.#handle = this.#timers.set(at, this.#onFire)
  }

  setAfter(ms: number): void {
    this.clear()
    this.#handle = this.#timers.after(ms, this.#onFire)
  }

  clear(): void {
    this.#timers.clear(this.#handle)
    this.#handle = undefined
    this.#at = undefined
  }

  readonly #onFire = (): void => {
    this.#handle = undefined
    this.#at = undefined
    this.#fire()
  }
}

export interface TimerHandle {
  readonly heap: TimerHeap
  /** In the clock of its kind. */
  readonly at: number
  readonly order: number
  fire: (() => void) | undefined
}
