import { SmallQueue } from "../core/small-queue.ts"
import type { Host } from "../ports/host.ts"

/** So many senders go on in one macrotask. */
const sendersMax = 256

/**
 * Lets those who come in crowds go on so many at a time, with a macrotask between, in the order in which they came. What each does is quick,
 * but ten thousand in one macrotask would keep every timer of the process waiting.
 */
export class PacedLine {
  readonly #host: Pick<Host, "quiesce">
  readonly #roomMax: number
  readonly #waiting = new SmallQueue<() => void>()
  #room: number
  #isArmed = false

  /** `roomMax`: how many go on in one macrotask. */
  constructor(host: Pick<Host, "quiesce">, roomMax = sendersMax) {
    this.#host = host
    this.#roomMax = roomMax
    this.#room = roomMax
  }

  /** Undefined: it may go on at once. */
  enter(): Promise<void> | undefined {
    this.#arm()
    if (this.#room === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#room--
    return undefined
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    this.#host.quiesce(this.#admit, true)
  }

  readonly #admit = (): void => {
    this.#isArmed = false
    this.#room = this.#roomMax
    for (let next = this.#waiting.peek(); next !== undefined && this.#room > 0; next = this.#waiting.peek()) {
      this.#waiting.shift()
      this.#room--
      next()
    }
    // Those who have just gone on count in this macrotask.
    if (this.#room < this.#roomMax) this.#arm()
  }
}
