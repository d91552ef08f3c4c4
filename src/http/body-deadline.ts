import { PerdureError } from "../core/errors.ts"

/** A body that arrives at 32 KB a second or faster is never cut off. */
const bytesPerMs = 32

/**
 * Limits the time that a body takes to arrive: `timeoutMs`, and one second more for each 32 KB. So a caller that sends single bytes holds a connection
 * for `timeoutMs` only, and a large body that arrives at 32 KB a second is complete in time.
 */
export class BodyDeadline {
  readonly #reject: (error: PerdureError) => void
  readonly #timeoutMs: number
  #timer: ReturnType<typeof setTimeout>
  /** Bytes that arrived since the last extension. */
  #bytes = 0
  readonly expired: Promise<never>

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    let rejectExpired: (error: PerdureError) => void = () => undefined
    this.expired = new Promise((_, reject) => (rejectExpired = reject))
    this.#reject = rejectExpired
    // The reader of the body handles the rejection.
    this.expired.catch(() => undefined)
    this.#timer = setTimeout(this.#check, timeoutMs)
  }

  arrived(bytes: number): void {
    this.#bytes += bytes
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  readonly #check = (): void => {
    const moreMs = Math.floor(this.#bytes / bytesPerMs)
    this.#bytes = 0
    if (moreMs > 0) this.#timer = setTimeout(this.#check, moreMs)
    else this.#reject(tooSlow(this.#timeoutMs))
  }
}

/** The longest time that a body of this length may take. */
export function bodyMsMax(timeoutMs: number, bytes: number): number {
  return timeoutMs + Math.ceil(bytes / bytesPerMs)
}

function tooSlow(timeoutMs: number): PerdureError {
  return new PerdureError(
    "REQUEST_TIMEOUT",
    `the body did not arrive within ${timeoutMs} ms and one second more for each 32 KB; send it without pauses, or raise bodyTimeout`,
    {
      details: { timeoutMs },
    },
  )
}
