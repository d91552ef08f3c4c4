import { MinHeap } from "../core/min-heap.ts"
import type { Host } from "../ports/host.ts"

/** Of the timers in the heap, so many may be cleared ones; beyond, where they are most of it, it is built anew. */
const clearedMax = 64
/** A jump of the time by less is of no account. */
const jumpMsMin = 1_000

/**
 * Any number of volatile timers over one timer of the host. The time may jump: the clock of a store may be set, or the machine may have slept. That is
 * noticed when a timer fires or another is set, such as that of the next renewal. After a jump forward what is due fires. After one back each timer fires
 * after what was left of it: so whoever waits for an instant has to look whether that has come, and set another timer if it has not.
 */
export class Timers {
  readonly #host: Host
  #heap = emptyHeap()
  /** How many in the heap are cleared. */
  #cleared = 0
  #order = 0
  #armedFor = Infinity
  #disarm: (() => void) | undefined
  #closed = false
  /** The time when the monotonic clock was at 0, when last looked. */
  #origin: number

  constructor(host: Host) {
    this.#host = host
    this.#origin = host.now() - host.monotonicMs()
  }

  /** For tests: how many are in the heap, cleared ones included. */
  get size(): number {
    return this.#heap.size
  }

  /** Nothing is set any more once they are closed. */
  set(at: number, fire: () => void): TimerHandle {
    if (this.#closed) return { at, firesAt: at, order: 0, fire: undefined }
    const hasJumped = this.#noticeJump()
    const handle: TimerHandle = { at, firesAt: at, order: this.#order++, fire }
    this.#heap.push(handle)
    if (hasJumped) this.#arm(this.#heap.peek()?.firesAt ?? at)
    else if (at < this.#armedFor) this.#arm(at)
    return handle
  }

  /**
   * A cleared timer stays in the heap for a while, without what it would have called. Where no other is left, the host is told: a Durable Object
   * that has a timer does not leave memory.
   */
  clear(handle: TimerHandle | undefined): void {
    if (handle?.fire === undefined) return
    handle.fire = undefined
    this.#cleared++
    if (this.#cleared === this.#heap.size) this.#empty()
    else if (this.#cleared > clearedMax && this.#cleared > this.#heap.size / 2) this.#rebuild()
  }

  close(): void {
    this.#closed = true
    this.#empty()
  }

  #empty(): void {
    this.#disarm?.()
    this.#heap = emptyHeap()
    this.#cleared = 0
    this.#armedFor = Infinity
  }

  #arm(at: number): void {
    this.#disarm?.()
    this.#armedFor = at
    this.#disarm = this.#host.setTimer(at, this.#fire)
  }

  /** True: it has jumped. */
  #noticeJump(): boolean {
    const origin = this.#host.now() - this.#host.monotonicMs()
    const jumpMs = origin - this.#origin
    this.#origin = origin
    if (jumpMs <= -jumpMsMin) this.#rebuild(jumpMs)
    return Math.abs(jumpMs) >= jumpMsMin
  }

  readonly #fire = (): void => {
    this.#armedFor = Infinity
    this.#noticeJump()
    const now = this.#host.now()
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) {
      if (next.fire !== undefined && next.firesAt > now) return this.#arm(next.firesAt)
      this.#heap.pop()
      if (next.fire === undefined) this.#cleared--
      else this.#call(next)
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

  /** Without those that are cleared. */
  #rebuild(byMs = 0): void {
    const live = emptyHeap()
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop()) {
      if (next.fire === undefined) continue
      next.firesAt += byMs
      live.push(next)
    }
    this.#heap = live
    this.#cleared = 0
  }
}

function emptyHeap(): MinHeap<TimerHandle> {
  return new MinHeap((a, b) => a.firesAt < b.firesAt || (a.firesAt === b.firesAt && a.order < b.order))
}

/** One timer that is moved about. */
export class Alarm {
  readonly #timers: Timers
  readonly #fire: () => void
  #handle: TimerHandle | undefined

  constructor(timers: Timers, fire: () => void) {
    this.#timers = timers
    this.#fire = fire
  }

  /** Undefined: not at all. */
  setTo(at: number | undefined): void {
    if (this.#handle?.at === at) return
    this.#timers.clear(this.#handle)
    this.#handle = undefined
    if (at === undefined) return
    this.#handle = this.#timers.set(at, () => {
      this.#handle = undefined
      this.#fire()
    })
  }
}

export interface TimerHandle {
  /** As it was set. */
  readonly at: number
  firesAt: number
  readonly order: number
  fire: (() => void) | undefined
}
