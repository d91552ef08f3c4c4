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

/** The methods are `async` so that errors of the driver become rejections. The work itself is synchronous. */
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
    // Most claims find nothing, and must not cost a write transaction.
    if (this.#claims.deadOwners(worker, now).length === 0 && this.#claims.due(offers, ids, { limit: 1, startsMin: 0 }, now).length === 0) return []
    return this.#flow.transaction(() => {
      for (const dead of this.#claims.deadOwners(worker, now)) this.#abandon(dead, now)
      const claimed: ClaimedInstance[] = []
      // An instance that is not claimed queues for a slot. It must not be tried again in this claim.
      const seen = new Set<number>()
      for (;;) {
        const room = limit - claimed.length
        const admittedBefore = this.#flow.admittedCount
        const starts = claimed.filter(({ instance }) => instance.status === "queued").length
        const rows = this.#claims.due(offers, ids, { limit: room, startsMin: Math.max(0, startsMin - starts) }, now)
        const unseen = rows.filter((row) => !seen.has(integer(row, "key")))
        for (const row of unseen) {
          seen.add(integer(row, "key"))
          const instance = this.#claim(row, worker, now)
          if (instance) claimed.push(instance)
        }
        const mayHaveMore = rows.length === room || this.#flow.admittedCount > admittedBefore
        if (!mayHaveMore || unseen.length === 0 || claimed.length >= limit) break
      }
      if (claimed.length > 0) this.#claims.renew(worker, now + leaseMs)
      return claimed
    })
  }

  /** Undefined: the instance has to queue for a slot. */
  #claim(row: SqlRow, worker: string, now: number): ClaimedInstance | undefined {
    const key = integer(row, "key")
    const hasLimits = row["limits"] !== null
    const slots = hasLimits ? this.#flow.tryAdmit(key, now) : "taken"
    if (slots === undefined) return undefined
    if (slots === "taken") this.#flow.releaseDebounceKeys(key, optionalText(row, "uniques"), optionalInteger(row, "due_at"), now)
    this.#claims.claim(worker, key)
    return { instance: { ...toInstanceRow(row), owner: worker, ...(hasLimits ? { slots } : undefined) }, crashed: row["crashed"] === 1 }
  }

  #abandon(worker: string, now: number): void {
    const idle = this.#flow.idleWithLimits(worker)
    this.#claims.abandon(worker, now)
    this.#flow.releaseSlots(idle)
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
        const idle = this.#flow.idleWithLimits(worker, id)
        this.#claims.release(worker, id, now)
        this.#flow.releaseSlots(idle)
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
      const isSingle = turns.length === 1 && this.#turns.isSingleRow(first)
      return isSingle && this.#driver.singleWrite ? this.#driver.singleWrite(write) : this.#flow.transaction(write)
    } catch (error) {
      this.#turns.clearCache()
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
      // The turns after a lost turn build on a state that never was, so they must not be written after the winner's turn.
      const outcome = lost.size > 0 && lost.has(turnSequenceKey(turn)) ? "lost" : this.#turns.write(turn)
      if (outcome === "lost") lost.add(turnSequenceKey(turn))
      return outcome
    })
  }
}
