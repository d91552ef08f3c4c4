const lengthMax = 64
/** Others are let in after so long. */
const turnMsMax = 1

/**
 * Macrotasks that follow each other within one turn of the event loop. A turn costs a call to the system, which is more than what most
 * replayed steps cost; Node runs all microtasks between two immediates of a turn as well. Immediates that are asked for within a
 * turn come in the next one: so a row of them is asked for in advance, as long as the last ones were.
 */
export class ImmediateRow {
  readonly #inContext: (run: () => void) => void
  readonly #now: () => number
  #waiting: (() => void)[] = []
  #length = 1
  /** Those that are still to come. */
  #left = 0
  #served = 0
  /** Of the row that counts; what is left of another does nothing. */
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

  /** The rest of the row is not needed, or comes too late. */
  #end(length: number): void {
    this.#length = length
    this.#left = 0
    this.#row++
    if (this.#waiting.length > 0) this.#lay()
  }
}
