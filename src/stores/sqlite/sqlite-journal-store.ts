import type { ClaimedInstance, ClaimRequest, InboxPart, JournalRow, JournalStore, Message, Offer, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlRow } from "../../ports/sql-driver.ts"
import type { ClaimTable } from "./tables/claim-table.ts"
import type { InboxTable } from "./tables/inbox-table.ts"
import { turnSequenceKey } from "../shared/turn.ts"
import { toInstanceRow } from "./tables/instance-row.ts"
import type { OfferTable } from "./tables/offer-table.ts"
import type { JournalTable } from "./tables/journal-table.ts"
import { integer, optionalInteger, optionalText } from "./driver/sql-columns.ts"
import type { SqliteTables } from "./sqlite-components.ts"
import type { TurnTable } from "./tables/turn-table.ts"
import type { TurnFlow } from "./tables/turn-flow-port.ts"

/** The methods are `async` so that whatever the driver throws is a rejection; the work itself is synchronous. */
export class SqliteJournalStore implements JournalStore {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #claims: ClaimTable
  readonly #journal: JournalTable
  readonly #inbox: InboxTable
  readonly #turns: TurnTable
  readonly #flow: TurnFlow
  readonly #offers: OfferTable | undefined

  constructor({ driver, now, claims, journal, inbox, turns, flow, offers }: SqliteTables) {
    this.#driver = driver
    this.#now = now
    this.#claims = claims
    this.#journal = journal
    this.#inbox = inbox
    this.#turns = turns
    this.#flow = flow
    this.#offers = offers
  }

  async claim({ worker, offers, limit, startsMin = 0, leaseMs, ids }: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    const now = this.#now()
    // Most claims find nothing; only one that does may cost a write.
    if (this.#claims.deadOwners(worker, now).length === 0 && this.#claims.due(offers, ids, { limit: 1, startsMin: 0 }, now).length === 0) return []
    return this.#flow.transaction(() => {
      for (const dead of this.#claims.deadOwners(worker, now)) this.#abandon(dead, now)
      const claimed: ClaimedInstance[] = []
      // One that is passed over is parked; it comes no second time, whatever the rows say.
      const seen = new Set<number>()
      for (;;) {
        const room = limit - claimed.length
        const letIn = this.#flow.admittedCount
        const starts = claimed.filter(({ instance }) => instance.status === "queued").length
        const rows = this.#claims.due(offers, ids, { limit: room, startsMin: Math.max(0, startsMin - starts) }, now)
        const fresh = rows.filter((row) => !seen.has(integer(row, "key")))
        for (const row of fresh) {
          seen.add(integer(row, "key"))
          const taken = this.#take(row, worker, now)
          if (taken) claimed.push(taken)
        }
        const mayBeMore = rows.length === room || this.#flow.admittedCount > letIn
        if (!mayBeMore || fresh.length === 0 || claimed.length >= limit) break
      }
      if (claimed.length > 0) this.#claims.renew(worker, now + leaseMs)
      return claimed
    })
  }

  /** Undefined: it has no slots, and has to wait for them. */
  #take(row: SqlRow, worker: string, now: number): ClaimedInstance | undefined {
    const key = integer(row, "key")
    const hasLimits = row["limits"] !== null
    const slots = hasLimits ? this.#flow.tryAdmit(key, now) : "taken"
    if (slots === undefined) return undefined
    if (slots === "taken") this.#flow.releaseDebounceKeys(key, optionalText(row, "uniques"), optionalInteger(row, "due_at"), now)
    this.#claims.take(worker, key)
    return { instance: { ...toInstanceRow(row), owner: worker, ...(hasLimits ? { slots } : undefined) }, crashed: row["crashed"] === 1 }
  }

  #abandon(worker: string, now: number): void {
    const resting = this.#flow.idleWithLimits(worker)
    this.#claims.abandon(worker, now)
    this.#flow.releaseSlots(resting)
  }

  async owned(worker: string): Promise<readonly string[]> {
    return this.#claims.owned(worker)
  }

  async unread(worker: string, limit: number): Promise<readonly string[]> {
    return this.#claims.unread(worker, limit)
  }

  async renew(worker: string, leaseMs: number, offers?: readonly Offer[]): Promise<void> {
    const now = this.#now()
    this.#flow.transaction(() => {
      if (leaseMs === 0) return this.#abandon(worker, now)
      this.#claims.renew(worker, now + leaseMs)
      if (offers) this.#offers?.put(worker, offers)
    })
  }

  async release(worker: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const now = this.#now()
    this.#flow.transaction(() => {
      for (const id of ids) {
        const resting = this.#flow.idleWithLimits(worker, id)
        this.#claims.release(worker, id, now)
        this.#flow.releaseSlots(resting)
      }
    })
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    const [first] = turns
    if (first === undefined) return []
    const write = () => {
      this.#turns.begin()
      return turns.length === 1 ? this.#write(turns) : this.#turns.runBatch(() => this.#write(turns))
    }
    try {
      const isSingle = turns.length === 1 && this.#turns.isOneRow(first)
      return isSingle && this.#driver.singleWrite ? this.#driver.singleWrite(write) : this.#flow.transaction(write)
    } catch (error) {
      this.#turns.forget()
      throw error
    }
  }

  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    return this.#journal.read(id, from)
  }

  async readInbox(ids: readonly string[], part?: InboxPart): Promise<readonly Message[]> {
    return ids.flatMap((id, at) => this.#inbox.read(id, part?.after[at], part?.limit)).toSorted((a, b) => a.seq - b.seq)
  }

  async nextDueAt(offers: readonly Offer[]): Promise<number | undefined> {
    return this.#claims.nextDueAt(offers)
  }

  #write(turns: readonly Turn[]): TurnOutcome[] {
    const lost = new Set<string>()
    return turns.map((turn) => {
      // What follows a lost turn was thought up on ground that is not there: it must not slip in behind the winner.
      const outcome = lost.size > 0 && lost.has(turnSequenceKey(turn)) ? "lost" : this.#turns.write(turn)
      if (outcome === "lost") lost.add(turnSequenceKey(turn))
      return outcome
    })
  }
}
