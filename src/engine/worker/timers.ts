import { MinHeap } from "../../core/collections/min-heap.ts"
import type { Host } from "../../ports/host.ts"

/** A heap is rebuilt when more than this many of its timers, and more than half of them, are cleared. */
const clearedMax = 64

/**
 * Any number of timers in memory over one timer of the host. There are two kinds, because somebody may set the clock of a store or of a machine, and
 * then the time of the engine jumps:
 *
 *   set(at)     fires when the time of the engine is `at`, whatever happens to its clock: for due times in the store
 *   after(ms)   fires when this duration has passed by the monotonic clock: for graces, retries, renewals and timeouts
 *
 * No event reports a jump. The timers notice it when one of them fires, for example that of the next lease renewal, or when another one is set.
 */
export class Timers {
  readonly #host: Host
  readonly #instants = new TimerHeap()
  readonly #durations = new TimerHeap()
  #order = 0
  /** When the host's timer fires, by the monotonic clock. */
  #scheduledFor = Infinity
  #cancelHostTimer: (() => void) | undefined
  #isClosed = false

  constructor(host: Host) {
    this.#host = host
  }

  /** For tests: how many timers are in the heaps, including cleared ones. */
  get size(): number {
    return this.#instants.size + this.#durations.size
  }

  set(at: number, fire: () => void): TimerHandle {
    return this.#add(this.#instants, at, fire)
  }

  after(ms: number, fire: () => void): TimerHandle {
    return this.#add(this.#durations, this.#host.monotonicMs() + ms, fire)
  }

  /** The time until the timer fires. */
  remainingMs({ heap, at }: TimerHandle): number {
    return at - (heap === this.#instants ? this.#host.now() : this.#host.monotonicMs())
  }

  /**
   * A cleared timer stays in its heap for a while, without its callback. If only cleared timers are left, the host's timer is cancelled: a Durable Object
   * with a timer does not leave memory.
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

  /** Once the timers are closed, a new timer never fires. */
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

  /** A host timer that is set for an earlier time stays: when it fires, it finds nothing due and sets the next one. */
  #scheduleIn(leftMs: number): void {
    const at = this.#host.monotonicMs() + leftMs
    if (at >= this.#scheduledFor) return
    this.#cancelHostTimer?.()
    this.#scheduledFor = at
    // The host's timers have whole milliseconds. The delay is rounded up, so that the host's timer does not fire before this one is due.
    this.#cancelHostTimer = this.#host.setTimer(Math.min(this.#host.now() + Math.ceil(leftMs), Number.MAX_SAFE_INTEGER), this.#fire)
  }

  /** The next timer to fire; of timers that fire together, the one that was set first. */
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
      // The monotonic clock has fractions of a millisecond. A timer that is due in less than one fires now.
      if (leftMs >= 1) return this.#scheduleIn(leftMs)
      next.heap.takeFirst()
      this.#call(next)
    }
  }

  /** A callback that throws must not keep the other timers from firing. */
  #call(handle: TimerHandle): void {
    const { fire } = handle
    handle.fire = undefined
    try {
      fire?.()
    } catch (error) {
      this.#host.log.error("the callback of a timer failed", { error })
    }
  }
}

/** The timers of one kind, the earliest first. */
class TimerHeap {
  #heap = emptyHeap()
  #cleared = 0

  get size(): number {
    return this.#heap.size
  }

  /** The heap holds only cleared timers, or none. */
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

/** One timer that can be moved to another time. */
export class MovableTimer {
  readonly #timers: Timers
  readonly #fire: () => void
  /** The instant that the timer is set to; undefined if it is set to a duration, or not at all. */
  #at: number | undefined
  #handle: TimerHandle | undefined

  constructor(timers: Timers, fire: () => void) {
    this.#timers = timers
    this.#fire = fire
  }

  /** Undefined: clears the timer. */
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
  /** The time by the clock of its kind: the engine's time, or the monotonic clock. */
  readonly at: number
  readonly order: number
  fire: (() => void) | undefined
}
