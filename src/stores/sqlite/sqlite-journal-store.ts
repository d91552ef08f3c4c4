import type { ClaimedInstance, ClaimRequest, JournalRow, JournalStore, Message, Offer, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { SqlDriver } from "../../ports/sql-driver.ts"
import type { ClaimTable } from "./claim-table.ts"
import type { InboxTable } from "./inbox-table.ts"
import { toInstanceRow } from "./instance-row.ts"
import type { JournalTable } from "./journal-table.ts"
import { integer } from "./sql-columns.ts"
import type { SqliteTables } from "./sqlite-tables.ts"
import type { SqliteTurns } from "./sqlite-turns.ts"

/** The methods are `async` so that whatever the driver throws is a rejection; the work itself is synchronous. */
export class SqliteJournalStore implements JournalStore {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #claims: ClaimTable
  readonly #journal: JournalTable
  readonly #inbox: InboxTable
  readonly #turns: SqliteTurns

  constructor({ driver, now, claims, journal, inbox, turns }: SqliteTables) {
    this.#driver = driver
    this.#now = now
    this.#claims = claims
    this.#journal = journal
    this.#inbox = inbox
    this.#turns = turns
  }

  async claim({ worker, offers, limit, leaseMs, ids }: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    const now = this.#now()
    // Most claims find nothing; only one that does may cost a write.
    if (this.#claims.deadOwners(worker, now).length === 0 && this.#claims.due(offers, ids, 1, now).length === 0) return []
    return this.#driver.transaction(() => {
      for (const dead of this.#claims.deadOwners(worker, now)) this.#claims.abandon(dead, now)
      const rows = this.#claims.due(offers, ids, limit, now)
      if (rows.length > 0) this.#claims.renew(worker, now + leaseMs)
      return rows.map((row) => {
        this.#claims.take(worker, integer(row, "key"))
        return { instance: { ...toInstanceRow(row), owner: worker }, crashed: row["crashed"] === 1 }
      })
    })
  }

  async owned(worker: string): Promise<readonly string[]> {
    return this.#claims.owned(worker)
  }

  async unread(worker: string, limit: number): Promise<readonly string[]> {
    return this.#claims.unread(worker, limit)
  }

  async renew(worker: string, leaseMs: number): Promise<void> {
    const now = this.#now()
    this.#driver.transaction(() => {
      if (leaseMs > 0) this.#claims.renew(worker, now + leaseMs)
      else this.#claims.abandon(worker, now)
    })
  }

  async release(worker: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const now = this.#now()
    this.#driver.transaction(() => {
      for (const id of ids) this.#claims.release(worker, id, now)
    })
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    if (turns.length === 0) return []
    try {
      return this.#driver.transaction(() => {
        this.#turns.begin()
        return this.#write(turns)
      })
    } catch (error) {
      this.#turns.forget()
      throw error
    }
  }

  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    return this.#journal.read(id, from)
  }

  async readInbox(ids: readonly string[]): Promise<readonly Message[]> {
    return ids.flatMap((id) => this.#inbox.read(id)).toSorted((a, b) => a.seq - b.seq)
  }

  async nextDueAt(offers: readonly Offer[]): Promise<number | undefined> {
    return this.#claims.nextDueAt(offers)
  }

  #write(turns: readonly Turn[]): TurnOutcome[] {
    const lost = new Set<string>()
    return turns.map((turn) => {
      // What follows a lost turn was thought up on ground that is not there: it must not slip in behind the winner.
      const outcome = lost.size > 0 && lost.has(turn.instance) ? "lost" : this.#turns.write(turn)
      if (outcome === "lost") lost.add(turn.instance)
      return outcome
    })
  }
}
