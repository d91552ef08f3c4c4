import { integer } from "../reads/columns.ts"
import type { Database } from "./database.ts"

/** A worker compares the clock with each renewal of its lease and each claim. Other processes compare it when they ask for the time after this long. */
const staleMs = 30_000
/** The server answers whole milliseconds. Its time may be later by this much. */
const fraction = 0.999

/**
 * The clock of the PostgreSQL server, which decides what is due and which leases have expired. Between two answers of the server, the monotonic clock of this
 * process advances it. So a change of this machine's wall clock has no effect.
 */
export class ServerClock {
  readonly #database: Pick<Database, "get" | "functions">
  readonly #monotonicMs: () => number
  /** The server's time when the monotonic clock was at 0. */
  #originAt: number
  #comparedAt = -Infinity
  #isComparing = false

  /** `wallAt`: the time of this machine's wall clock, which is used as far as the first answer of the server allows it. The two clocks usually agree. */
  constructor(database: Pick<Database, "get" | "functions">, wallAt: number, monotonicMs: () => number = () => performance.now()) {
    this.#database = database
    this.#monotonicMs = monotonicMs
    this.#originAt = wallAt + fraction - monotonicMs()
  }

  now(): number {
    const at = this.#monotonicMs()
    if (at - this.#comparedAt > staleMs && !this.#isComparing) void this.#compareLater()
    return Math.floor(this.#originAt + at)
  }

  /** Call it when sending a statement whose answer contains the server's time. */
  sentAt(): number {
    return this.#monotonicMs()
  }

  async compare(): Promise<void> {
    const sentAt = this.sentAt()
    const row = await this.#database.get("now", `SELECT ${this.#database.functions.nowMs}() AS now`)
    this.noted(sentAt, integer(row ?? {}, "now"))
  }

  /** The server's time was `serverNow` at some moment between `sentAt` and now. The clock is moved only as far as that requires. */
  noted(sentAt: number, serverNow: number): void {
    const receivedAt = this.#monotonicMs()
    this.#originAt = Math.min(Math.max(this.#originAt, serverNow - receivedAt), serverNow + fraction - sentAt)
    this.#comparedAt = receivedAt
  }

  /** Compares the clock in the background. If there is no answer, a later call asks again. */
  async #compareLater(): Promise<void> {
    this.#isComparing = true
    try {
      await this.compare()
    } catch {
      this.#comparedAt = this.#monotonicMs()
    } finally {
      this.#isComparing = false
    }
  }
}
