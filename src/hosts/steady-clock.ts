/** If the two clocks differ by more than this between two readings, the wall clock was set. Imprecise readings and slewing differ by less. */
const stepMs = 20
const readsMax = 5

/**
 * The time of a process: the wall clock in whole milliseconds, but the time never goes back. After the wall clock is set back, the time continues from
 * where it was. It is then ahead of the wall clock by that step, until the wall clock is set forward again.
 *
 * A monotonic clock tells a step of the wall clock from time that has passed. workerd has no monotonic clock. There, a step back is noticed when the wall
 * clock shows less than before, or when a timer fires too early by the wall clock. A step forward cannot be told from time that has passed.
 */
export class SteadyClock {
  readonly #wall: () => number
  readonly #monotonic: (() => number) | undefined
  /** The last readings of both clocks, taken at the same moment. */
  #wallAt: number
  #monotonicAt: number
  #aheadMs = 0
  #last: number

  constructor(wall: () => number, monotonic?: () => number) {
    this.#wall = wall
    this.#monotonic = monotonic
    this.#wallAt = wall()
    this.#monotonicAt = monotonic?.() ?? 0
    this.#last = this.#wallAt
  }

  /** The time now. Of many calls in one millisecond, only the first reads the monotonic clock. */
  now(): number {
    const wall = this.#wall()
    if (wall !== this.#wallAt) this.#pass(wall)
    return this.#last
  }

  /** How far the time is ahead of the wall clock: the sum of its steps back, less its steps forward. */
  aheadMs(): number {
    this.now()
    return this.#aheadMs
  }

  /** To be called when a timer set for `at` fires: the time is at least `at`. */
  reached(at: number): void {
    const lackMs = at - this.now()
    if (lackMs <= 0) return
    if (lackMs > stepMs) this.#aheadMs += lackMs
    this.#last = at
  }

  #pass(wall: number): void {
    const monotonic = this.#monotonic
    if (monotonic === undefined) this.#note(wall, this.#monotonicAt + Math.max(0, wall - this.#wallAt))
    else if (!this.#note(wall, monotonic())) this.#noteExactly(monotonic)
    this.#last = Math.max(this.#last, this.#wallAt + this.#aheadMs)
  }

  /** Reads both clocks, again if necessary: an interruption of the process between the two readings looks like a step. */
  #noteExactly(monotonic: () => number): void {
    for (let reads = 1; ; reads++) {
      const before = monotonic()
      const wall = this.#wall()
      const monotonicAt = monotonic()
      if (monotonicAt - before <= 1 || reads === readsMax) return void this.#note(wall, monotonicAt, true)
    }
  }

  /** Takes one pair of readings. False: they look like a step, and should be read again. */
  #note(wall: number, monotonicAt: number, isExact = this.#monotonic === undefined): boolean {
    const passedMs = monotonicAt - this.#monotonicAt
    const step = wall - this.#wallAt - passedMs
    const isStep = Math.abs(step) > stepMs + passedMs / 1_000
    if (isStep && !isExact) return false
    if (isStep) this.#aheadMs = Math.max(0, this.#aheadMs - Math.round(step))
    this.#wallAt = wall
    this.#monotonicAt = monotonicAt
    return true
  }
}
