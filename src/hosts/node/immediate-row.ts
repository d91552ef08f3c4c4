const lengthMax = 64
/** After this time, other work of the process gets a turn of the event loop. */
const turnMsMax = 1

/**
 * Runs several macrotasks in one turn of the event loop. A turn costs a system call, which is more than most replayed steps cost. Node runs all microtasks
 * between two immediates of one turn, so each immediate is a macrotask. An immediate that is requested during a turn runs in the next turn. So a row of
 * immediates is requested in advance, as long as the last row was.
 */
export class ImmediateRow {
  readonly #inContext: (run: () => void) => void
  readonly #now: () => number
  #waiting: (() => void)[] = []
  #length = 1
  /** The immediates of the row that have not run yet. */
  #left = 0
  #served = 0
  /** The number of the current row. Immediates of an earlier row do nothing. */
  #row = 0
  #beganAt = 0

  constructor(inContext: (run: () => void) => void, now = () => performance.now()) {
    this.#inContext = inContext
    this.#now = now
  }

  add(then: () => void): void {
    this.#waiting.push(then)
    if (this.#left < this.#waiting.length) this.#lay()
  }

  #lay(): void {
    const length = Math.max(this.#length, this.#waiting.length)
    this.#left = length
    this.#served = 0
    this.#row++
    for (let i = 0; i < length; i++) setImmediate(this.#next, this.#row)
  }

  readonly #next = (row: number): void => {
    if (row !== this.#row) return
    const now = this.#now()
    if (this.#served === 0) this.#beganAt = now
    this.#left--
    const then = now - this.#beganAt > turnMsMax ? undefined : this.#waiting.shift()
    if (then === undefined) return this.#end(Math.max(1, this.#served))
    this.#served++
    if (this.#left === 0) this.#length = Math.min(this.#length * 2, lengthMax)
    this.#inContext(then)
  }

  /** Drops the rest of the row, which is not needed or comes too late. */
  #end(length: number): void {
    this.#length = length
    this.#left = 0
    this.#row++
    if (this.#waiting.length > 0) this.#lay()
  }
}
