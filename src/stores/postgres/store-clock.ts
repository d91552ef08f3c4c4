import { integer } from "./columns.ts"
import type { Database } from "./database.ts"

/** How far this process's clock is from PostgreSQL's, which decides what is due and whose lease is over. */
export class StoreClock {
  readonly #database: Database
  readonly #hostNow: () => number
  #offsetMs = 0

  constructor(database: Database, hostNow: () => number) {
    this.#database = database
    this.#hostNow = hostNow
  }

  now(): number {
    return this.#hostNow() + this.#offsetMs
  }

  async compare(): Promise<void> {
    const sentAt = this.#hostNow()
    const row = await this.#database.get("now", `SELECT ${this.#database.schema}.now_ms() AS now`)
    this.noted(sentAt, integer(row ?? {}, "now"))
  }

  /** The server's time was this at some moment between then and now. */
  noted(sentAt: number, serverNow: number): void {
    const receivedAt = this.#hostNow()
    // Within the time of the round trip nothing is known, and the clock should not be moved about for nothing.
    const least = serverNow - receivedAt
    const most = serverNow - sentAt
    if (this.#offsetMs < least || this.#offsetMs > most) this.#offsetMs = Math.round((least + most) / 2)
  }

  sentAt(): number {
    return this.#hostNow()
  }
}
