/** A difference of the two clocks that is larger than this is a step, and no inexactness of reading them; so is no slewing of up to a thousandth. */
const stepMs = 20
const readsMax = 5

/**
 * The time that a process works by: that of the wall clock, in whole milliseconds, but it never goes back. After the wall clock is set back, the
 * time goes on from where it was: it is ahead of the wall clock by that step, until somebody sets the wall clock forward again.
 *
 * A monotonic clock tells steps from time that has passed. Without one (workerd has none) a step back is noticed when the wall clock shows less than
 * before, or when a timer fires too early by it; and a step forward cannot be told from time that has passed.
 */
export class SteadyClock {
  readonly #wall: () => number
  readonly #monotonic: (() => number) | undefined
  /** When the clocks were last read: both at the same moment. */
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

  /** Many calls come in one millisecond: only the first of them reads the second clock. */
  now(): number {
    const wall = this.#wall()
    if (wall !== this.#wallAt) this.#pass(wall)
    return this.#last
  }

  /** How far the time is ahead of the wall clock: by all steps back that nobody has undone. */
  aheadMs(): number {
    this.now()
    return this.#aheadMs
  }

  /** A timer that was set for `at` fires, so it is not earlier than that. */
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

  /** The process may have been interrupted between the two readings, which looks like a step. */
  #noteExactly(monotonic: () => number): void {
    for (let reads = 1; ; reads++) {
      const before = monotonic()
      const wall = this.#wall()
      const monotonicAt = monotonic()
      if (monotonicAt - before <= 1 || reads === readsMax) return void this.#note(wall, monotonicAt, true)
    }
  }

  /** False: it looks like a step, and is to be read again. */
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
