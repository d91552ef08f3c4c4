import type {
  ClaimedInstance,
  ClaimRequest,
  InboxPart,
  JournalRow,
  JournalStore,
  Message,
  MessageKind,
  Offer,
  Turn,
  TurnOutcome,
} from "../../ports/journal-store.ts"
import { toText } from "../shared/unsafe-text.ts"
import { offersText } from "../shared/worker-offers.ts"
import { Claimer } from "./claims/claimer.ts"
import { integer, list, optionalText, text } from "./reads/columns.ts"
import type { Database, PgRow } from "./connection/database.ts"
import { nextWakeUp } from "./claims/next-wake-up.ts"
import { limitedWorkflows } from "./flow-control/flow-session.ts"
import { journalReader } from "./reads/journal-reader.ts"
import type { PostgresComponents } from "./postgres-components.ts"
import type { TurnCommitter } from "./turns/turn-committer.ts"

const staleMs = 3_600_000

export class PostgresJournalStore implements JournalStore {
  readonly #components: PostgresComponents
  readonly #database: Database
  readonly #claimer: Claimer
  readonly #committer: TurnCommitter
  readonly #reader: ReturnType<typeof journalReader>

  constructor(components: PostgresComponents) {
    this.#components = components
    this.#database = components.database
    this.#claimer = new Claimer(components.database, components.flow)
    this.#committer = components.committer
    this.#reader = journalReader(components.database)
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    const claimed = await this.#claimer.claim(request)
    for (const { instance } of claimed) if (instance.slots !== undefined) this.#committer.noteLimited(instance.id)
    return claimed
  }

  async owned(worker: string): Promise<readonly string[]> {
    const rows = await this.#database.all("owned", `SELECT id FROM ${this.#database.functions.ownedInstances}($1) AS id`, toText(worker))
    return rows.map((row) => text(row, "id"))
  }

  async unread(worker: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#database.all("unread", `SELECT id FROM ${this.#database.functions.instancesWithMessages}($1, $2) AS id`, toText(worker), limit)
    return rows.map((row) => text(row, "id"))
  }

  async renew(worker: string, leaseMs: number, offers?: readonly Offer[]): Promise<void> {
    const { schema: s, functions } = this.#database
    if (leaseMs > 0) {
      const { clock, notifier } = this.#components
      const sentAt = clock.sentAt()
      const row = await this.#database.get("renew", `SELECT ${functions.renewLease}($1, $2) AS dead, ${functions.nowMs}() AS now`, toText(worker), leaseMs)
      // The lease of another worker has expired, and no notification tells of that: the listeners of this process must look.
      if (row?.["dead"] === true) notifier.notifySelf()
      if (row) clock.noted(sentAt, integer(row, "now"))
      if (offers) await this.#offer(worker, offers)
      return
    }
    const row = await this.#database.get(
      "give-up",
      // The statement also deletes leases of workers that died long ago and owned nothing, because nothing else would.
      `WITH over AS (DELETE FROM ${s}.lease WHERE worker = $1 OR until < ${functions.nowMs}() - ${staleMs})
      SELECT ${functions.releaseInstances}(ARRAY[$1::text], true, NULL, '{}', ${functions.nowMs}()) AS at_rest, ${functions.limitedWorkflows}(ARRAY[$1::text], NULL) AS workflows`,
      toText(worker),
    )
    if (list<string>(row, "workflows").length > 0) {
      await this.#components.flow.transaction(
        (queries) => limitedWorkflows(queries, this.#database, [worker], null),
        (session, queries, locked) => this.#claimer.releaseDead(session, queries, [worker], locked),
      )
    }
    this.#components.notifier.work()
  }

  /** Writes the offers if they have changed, and then deletes the offers of workers without a lease. A worker repeats its offers with each renewal. */
  async #offer(worker: string, offers: readonly Offer[]): Promise<void> {
    const s = this.#database.schema
    await this.#database.all(
      "offer",
      `WITH said AS (
        INSERT INTO ${s}.offer AS o (worker, offers) VALUES ($1, $2) ON CONFLICT (worker) DO UPDATE SET offers = excluded.offers WHERE o.offers <> excluded.offers
        RETURNING 1
      )
      DELETE FROM ${s}.offer o WHERE EXISTS (SELECT 1 FROM said) AND o.worker <> $1 AND NOT EXISTS (SELECT 1 FROM ${s}.lease l WHERE l.worker = o.worker)`,
      toText(worker),
      offersText(offers),
    )
  }

  async release(worker: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const { functions } = this.#database
    const row = await this.#database.get(
      "release",
      `SELECT ${functions.releaseInstances}(ARRAY[$1::text], false, $2, '{}', ${functions.nowMs}()) AS at_rest, ${functions.limitedWorkflows}(ARRAY[$1::text], $2) AS workflows`,
      toText(worker),
      ids.map(toText),
    )
    if (list<string>(row, "workflows").length > 0) {
      await this.#components.flow.transaction(
        (queries) => limitedWorkflows(queries, this.#database, [worker], ids),
        (session, queries, locked) => this.#claimer.release(session, queries, [worker], false, ids, locked),
      )
    }
    this.#components.notifier.work()
  }

  async commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]> {
    if (turns.length === 0) return []
    try {
      return await this.#committer.commit(turns)
    } finally {
      // The other processes are also told if the answer was lost, because the turns may be written.
      this.#components.notifier.turnsCommitted(turns)
    }
  }

  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    return this.#reader.read({ id, from })
  }

  async readInbox(ids: readonly string[], part?: InboxPart): Promise<readonly Message[]> {
    const after = part?.after ?? ids.map(() => 0)
    const rows = await this.#database.all(
      "inbox",
      `SELECT * FROM ${this.#database.functions.readInbox}($1, $2, $3)`,
      ids.map(toText),
      after,
      part?.limit ?? null,
    )
    return rows.map(toMessage)
  }

  nextDueAt(offers: readonly Offer[]): Promise<number | undefined> {
    return nextWakeUp(this.#database, this.#components.clock, offers)
  }
}

function toMessage(row: PgRow): Message {
  const topic = optionalText(row, "topic")
  const payload = optionalText(row, "payload")
  const eventId = optionalText(row, "event_id")
  return {
    seq: integer(row, "seq"),
    instance: text(row, "id"),
    kind: text(row, "kind") as MessageKind,
    at: integer(row, "at"),
    ...(topic === undefined ? {} : { topic }),
    ...(payload === undefined ? {} : { payload }),
    ...(eventId === undefined ? {} : { eventId }),
  }
}
