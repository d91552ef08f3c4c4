import { integer } from "../reads/columns.ts"
import type { Database } from "./database.ts"

/** A worker has it corrected with each renewal of its lease, and with each claim. Whoever renews none, and asks for the time, has it compared after so long. */
const staleMs = 30_000
/** Times are told in whole milliseconds: what may have been cut off. */
const fraction = 0.999

/**
 * The clock of the PostgreSQL server, which decides what is due and whose lease is over. Between two answers of the server it is advanced by the
 * monotonic clock of this process: what anybody does to the wall clock of this machine has no effect.
 */
export class ServerClock {
  readonly #database: Pick<Database, "get" | "functions">
  readonly #monotonicMs: () => number
  /** The server's time when the monotonic clock was at 0. */
  #originAt: number
  #comparedAt = -Infinity
  #isComparing = false

  /** `wallAt`: what the wall clock of this machine shows. It counts where the first answer allows it: mostly it is the server's, too. */
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

  /** When a statement is sent whose answer has the server's time. */
  sentAt(): number {
    return this.#monotonicMs()
  }

  async compare(): Promise<void> {
    const sentAt = this.sentAt()
    const row = await this.#database.get("now", `SELECT ${this.#database.functions.nowMs}() AS now`)
    this.noted(sentAt, integer(row ?? {}, "now"))
  }

  /** The server's time was this at some moment between then and now. More is not known, and the clock is moved no further than that asks for. */
  noted(sentAt: number, serverNow: number): void {
    const receivedAt = this.#monotonicMs()
    this.#originAt = Math.min(Math.max(this.#originAt, serverNow - receivedAt), serverNow + fraction - sentAt)
    this.#comparedAt = receivedAt
  }

  /** Nobody waits for the answer. Where there is none, another call asks again. */
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
