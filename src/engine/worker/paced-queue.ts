import { SmallQueue } from "../../core/collections/small-queue.ts"
import type { Host } from "../../ports/host.ts"

/** So many senders go on in one macrotask. */
const sendersMax = 256

/**
 * Lets those who come in crowds go on so many at a time, with a macrotask between, in the order in which they came. What each does is quick,
 * but ten thousand in one macrotask would keep every timer of the process waiting.
 */
export class PacedQueue {
  readonly #host: Pick<Host, "quiesce">
  readonly #roomMax: number
  readonly #inARow: boolean
  readonly #waiting = new SmallQueue<() => void>()
  #room: number
  #isScheduled = false

  /** `roomMax`: how many go on in one macrotask. `inARow` false: each macrotask is a turn of the event loop, in which everything else goes on too. */
  constructor(host: Pick<Host, "quiesce">, roomMax = sendersMax, inARow = true) {
    this.#host = host
    this.#roomMax = roomMax
    this.#inARow = inARow
    this.#room = roomMax
  }

  /** Nobody is to go on in a later macrotask. */
  get idle(): boolean {
    return this.#waiting.size === 0
  }

  /** Undefined: it may go on at once. */
  enter(): Promise<void> | undefined {
    this.#schedule()
    if (this.#room === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#room--
    return undefined
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#host.quiesce(this.#admit, this.#inARow)
  }

  readonly #admit = (): void => {
    this.#isScheduled = false
    this.#room = this.#roomMax
    for (let next = this.#waiting.peek(); next !== undefined && this.#room > 0; next = this.#waiting.peek()) {
      this.#waiting.shift()
      this.#room--
      next()
    }
    // Those who have just gone on count in this macrotask.
    if (this.#room < this.#roomMax) this.#schedule()
  }
}
