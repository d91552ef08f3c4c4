import { SmallQueue } from "../../core/collections/small-queue.ts"
import type { Host } from "../../ports/host.ts"

/** How many senders continue in one macrotask. */
const sendersMax = 256

/**
 * Lets callers continue in the order of their arrival, a limited number per macrotask. Each of them does little, but ten thousand in one macrotask would
 * delay every timer of the process.
 */
export class PacedQueue {
  readonly #host: Pick<Host, "quiesce">
  readonly #roomMax: number
  readonly #inARow: boolean
  readonly #waiting = new SmallQueue<() => void>()
  #room: number
  #isScheduled = false

  /** `roomMax`: how many callers continue in one macrotask. `inARow` false: each of these macrotasks is a new turn of the event loop, with timers and I/O. */
  constructor(host: Pick<Host, "quiesce">, roomMax = sendersMax, inARow = true) {
    this.#host = host
    this.#roomMax = roomMax
    this.#inARow = inARow
    this.#room = roomMax
  }

  /** Nobody waits for a later macrotask. */
  get idle(): boolean {
    return this.#waiting.size === 0
  }

  /** Undefined: the caller may continue at once. */
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
    // The admitted callers count for this macrotask, so the room is reset in the next one.
    if (this.#room < this.#roomMax) this.#schedule()
  }
}
