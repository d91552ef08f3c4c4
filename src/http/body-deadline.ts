import { PerdureError } from "../core/errors.ts"

/** A body that comes at least so fast, 32 KB a second, is never cut off. */
const bytesPerMs = 32

/**
 * How long a body may take: the time that is set, and one second more for each 32 KB of it. So a caller that sends a byte now and then holds a
 * connection only for the time that is set, and a large body that comes at 32 KB a second arrives.
 */
export class BodyDeadline {
  readonly #reject: (error: PerdureError) => void
  readonly #timeoutMs: number
  #timer: ReturnType<typeof setTimeout>
  /** What came since the time was extended last. */
  #bytes = 0
  readonly expired: Promise<never>

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    let rejectExpired: (error: PerdureError) => void = () => undefined
    this.expired = new Promise((_, reject) => (rejectExpired = reject))
    this.#reject = rejectExpired
    // Told by whoever reads the body.
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

/** The longest that a body of this length may take. */
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
