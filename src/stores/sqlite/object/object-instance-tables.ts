import { isControl } from "../../../core/journal/control-message.ts"
import { scheduleIdOf } from "../../../core/time/schedule.ts"
import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { Delivery } from "../../../ports/directory.ts"
import type { IndexRemoval } from "../../../ports/cloudflare/index-shard.ts"
import type { Turn } from "../../../ports/journal-store.ts"
import type { ObjectMessage } from "../../../ports/cloudflare/task-order.ts"
import type { IndexCopy, IndexBacklog, ObjectTables, OutgoingMessage, ObjectInstanceSummary } from "../../../ports/cloudflare/object-tables.ts"
import type { SqlDriver, SqlRow } from "../../../ports/sql-driver.ts"
import type { TurnObserver } from "../../../ports/cloudflare/turn-observer.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { claimableAtOf } from "./claimable-row.ts"
import { InboxTable } from "../tables/inbox-table.ts"
import { JournalTable } from "../tables/journal-table.ts"
import { migrate, versionOf } from "../schema/migrate.ts"
import { flowTables, scheduleTables } from "../schema/table-statements.ts"
import { laterTables, objectMigrations } from "./object-schema.ts"
import { getOrRead } from "./object-read-cache.ts"
import { IndexProgress } from "./index-progress.ts"
import { cacheInstanceRow, readInstanceRow, typedInstanceRow } from "./object-instance-row.ts"
import { scheduleTableDefinitions } from "./object-schedule-table.ts"
import { slotTableDefinitions } from "./object-slot-table.ts"
import { OutboxTable } from "./outbox-table.ts"
import { integer, optionalInteger, text } from "../driver/sql-columns.ts"
import { IndexTurnBuffer } from "./index-turn-buffer.ts"
import { RowAfterTurn } from "./row-after-turn.ts"
import { isTaskOrder } from "./tasks/is-task-order.ts"
import { removeSentTask, SentTaskTable } from "./tasks/sent-task-table.ts"

/**
 * The tables that only objects have:
 *
 *   index_progress  one row, from the first update of the index on: which shard lists the instance, how far, and which removals it must still get
 *   slot_request    slots that the instance has requested from limit keys, holds, or returns
 *   outbox          messages to other objects
 *   sent_task       tasks in the objects of their queues that have not ended (sent-task-table.ts)
 *   received        by sender: the last message that this object has received
 *   refused         incarnations that must not be created, for a day: a control message for the instance came before its creation, or the instance
 *                   was a schedule's and is deleted
 */
const definitions: Readonly<Record<string, readonly string[]>> = {
  ...laterTables,
  ...flowTables,
  ...scheduleTables,
  ...slotTableDefinitions,
  ...scheduleTableDefinitions,
  ...OutboxTable.definitions,
  ...SentTaskTable.definitions,
  ...IndexProgress.definitions,
  perdure_received: [`CREATE TABLE perdure_received (sender TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID`],
  perdure_refused: [`CREATE TABLE perdure_refused (incarnation TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID`],
}

/** The statements that create a table of an object. Most objects never need most of these tables. */
export function objectTableDefinitions(name: string): readonly string[] {
  return definitions[name] ?? []
}

/**
 * The migrations of an instance's object. Every such object needs `index_progress`, and a table that is created later makes SQLite parse all statements
 * again.
 */
export const instanceMigrations = objectMigrations.map((step, index) =>
  index === 0 ? { ...step, statements: [...step.statements, ...Object.values(IndexProgress.definitions).flat()] } : step,
)

const refusedForMs = 24 * 60 * 60 * 1_000

export class SqliteObjectTables implements ObjectTables {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #indexProgress: IndexProgress
  #isThere: boolean | undefined
  #isPrepared = false
  /** Whether the outbox has messages. Undefined: not known. An object without tables has none. */
  #hasOutgoing: boolean | undefined = false
  /** Null: not known. */
  #refusalsExpireAt: number | undefined | null
  #inboxTable: InboxTable | undefined
  #outboxTable: OutboxTable | undefined

  readonly turnObserver: TurnObserver = {
    onMessage: (message) => {
      this.#hasOutgoing = true
      this.#outbox.add(message)
    },
    onTurn: (turn) => {
      this.#turnBuffer.onTurn(turn)
      const summary = summaryAfter(turn)
      if (summary) this.#driver.cache?.set("summary", "perdure_instance", summary)
      const row = this.#rowAfterTurn.after(turn)
      if (row) cacheInstanceRow(this.#driver, row)
    },
  }

  constructor(driver: SqlDriver, now: () => number) {
    this.#driver = driver
    this.#now = now
    this.#indexProgress = new IndexProgress(driver)
  }

  isThere(): boolean {
    this.#isThere ??= versionOf(this.#driver).version > 0
    return this.#isThere
  }

  prepare(): void {
    if (this.#isPrepared) return
    migrate(this.#driver, instanceMigrations)
    const has = (name: string) => this.#driver.hasTable?.(name) !== false
    if (has("perdure_outbox")) this.#hasOutgoing = undefined
    if (has("perdure_refused")) this.#refusalsExpireAt = null
    this.#isThere = true
    this.#isPrepared = true
  }

  forget(): void {
    this.#isThere = false
    this.#isPrepared = false
    this.#hasOutgoing = false
    this.#refusalsExpireAt = undefined
  }

  get #outbox(): OutboxTable {
    this.#outboxTable ??= new OutboxTable(this.#driver)
    return this.#outboxTable
  }

  get #inbox(): InboxTable {
    this.#inboxTable ??= new InboxTable(this.#driver)
    return this.#inboxTable
  }

  summary(): ObjectInstanceSummary | undefined {
    return getOrRead(this.#driver, "summary", "perdure_instance", () => this.#readSummary())
  }

  #readSummary(): ObjectInstanceSummary | undefined {
    const row = readInstanceRow(this.#driver)
    if (row === undefined) return undefined
    const claimableAt = claimableAtOf(row)
    return {
      id: text(row, "id"),
      incarnation: text(row, "incarnation"),
      status: text(row, "status") as Status,
      isOwned: row["owner"] !== null,
      hasMessages: row["mail_at"] !== null,
      dueAt: optionalInteger(row, "due_at"),
      claimableAt: claimableAt < Infinity ? claimableAt : undefined,
    }
  }

  outgoing(limit: number, except: readonly string[] = []): readonly OutgoingMessage[] {
    // The object asks after every turn, and most turns send nothing.
    if (this.#hasOutgoing === false) return []
    const outgoing = this.#outbox.read(limit, except)
    if (outgoing.length > 0 || except.length === 0) this.#hasOutgoing = outgoing.length > 0
    return outgoing
  }

  sent(seqs: readonly number[]): void {
    this.#driver.transaction(() => {
      for (const seq of seqs) this.#outbox.remove(seq)
    })
  }

  sender(): string {
    return this.#indexProgress.senderId()
  }

  receive(from: string, messages: readonly OutgoingMessage[]): readonly Delivery[] {
    return this.#driver.transaction(() => {
      const receivedUpTo = this.#readSeq(`SELECT seq FROM perdure_received WHERE sender = ?`, from)
      const deliveries = messages.map(({ seq, message }) => (seq <= receivedUpTo ? "duplicate" : this.#deliver(message)))
      const last = messages.at(-1)?.seq ?? 0
      if (last > receivedUpTo) {
        const upsert = `INSERT INTO perdure_received (sender, seq) VALUES (?, ?) ON CONFLICT (sender) DO UPDATE SET seq = excluded.seq`
        this.#driver.prepare(upsert).run(from, last)
      }
      return deliveries
    })
  }

  #deliver(message: ObjectMessage): Delivery {
    // Only the object of a task queue takes orders.
    if (isTaskOrder(message)) return "absent"
    const now = this.#now()
    if (message.kind === "activity" && message.eventId !== undefined) removeSentTask(this.#driver, message.eventId)
    const delivery = this.#inbox.deliver(message, now)
    if (delivery === "absent" && message.incarnation !== undefined && isControl(message.kind)) this.#refuse(message.incarnation, now)
    return delivery
  }

  isRefused(incarnation: string): boolean {
    return this.refusalsExpireAt() !== undefined && this.#row(`SELECT 1 AS found FROM perdure_refused WHERE incarnation = ?`, toText(incarnation)) !== undefined
  }

  #refuse(incarnation: string, now: number): void {
    this.#refusalsExpireAt = null
    this.#driver.prepare(`INSERT OR IGNORE INTO perdure_refused (incarnation, at) VALUES (?, ?)`).run(toText(incarnation), now)
  }

  refusalsExpireAt(): number | undefined {
    if (this.#refusalsExpireAt === null) {
      const at = optionalInteger(this.#row(`SELECT max(at) AS at FROM perdure_refused`) ?? { at: null }, "at")
      this.#refusalsExpireAt = at === undefined ? undefined : at + refusedForMs
    }
    return this.#refusalsExpireAt
  }

  dropExpired(): void {
    if (this.refusalsExpireAt() === undefined) return
    this.#refusalsExpireAt = null
    this.#driver.prepare(`DELETE FROM perdure_refused WHERE at <= ?`).run(this.#now() - refusedForMs)
  }

  indexBacklog(): IndexBacklog {
    const { indexedUpTo, shard, removed } = this.#indexProgress.read()
    const turns = this.#turnBuffer
    const last = (turns.pendingUpTo ??= this.#lastPosition())
    return { indexedUpTo, pendingUpTo: last > indexedUpTo ? last : undefined, shard, removed }
  }

  /** The end of the journal. The index may need none of the last turns, but an update too many does no harm. */
  #lastPosition(): number {
    return this.#readSeq(`SELECT position + count - 1 AS seq FROM perdure_journal ORDER BY instance DESC, position DESC LIMIT 1`)
  }

  indexCopy(from: number): IndexCopy | undefined {
    const row = typedInstanceRow(this.#driver)
    if (row === undefined) return undefined
    const written = this.#turnBuffer.turnsFrom(from)
    if (written) return { row, ...written }
    const rows = new JournalTable(this.#driver).read(row.id, from)
    const last = rows.at(-1)
    const revision = last === undefined ? 0 : last.position + last.count - 1
    this.#turnBuffer.journalReadTo(revision)
    return { row, rows, revision }
  }

  markIndexed(revision: number, shard: string): void {
    this.#indexProgress.write({ indexedUpTo: Math.max(this.#indexProgress.read().indexedUpTo, revision), shard })
    this.#turnBuffer.indexed(revision)
  }

  markRemoved(removed: readonly IndexRemoval[]): void {
    const indexed = new Set(removed.map(({ incarnation }) => incarnation))
    this.#indexProgress.write({ removed: this.#indexProgress.read().removed.filter(({ incarnation }) => !indexed.has(incarnation)) })
  }

  noteRemoval({ id, incarnation }: IndexRemoval): void {
    // A schedule may repeat its order to create the instance. The order must not create the instance a second time.
    if (scheduleIdOf(id) !== undefined) this.#refuse(incarnation, this.#now())
    this.#turnBuffer.pendingUpTo = undefined
    this.#indexProgress.write({ indexedUpTo: 0, removed: [...this.#indexProgress.read().removed, { id, incarnation }] })
  }

  /** In the read cache, because a failed transaction clears it: then the buffered turns were not written. */
  get #turnBuffer(): IndexTurnBuffer {
    return getOrRead(this.#driver, "turns", "", () => new IndexTurnBuffer())
  }

  get #rowAfterTurn(): RowAfterTurn {
    return getOrRead(this.#driver, "written", "", () => new RowAfterTurn())
  }

  #readSeq(sql: string, ...values: string[]): number {
    return integer(this.#row(sql, ...values) ?? { seq: 0 }, "seq")
  }

  #row(sql: string, ...values: (string | number)[]): SqlRow | undefined {
    return this.#driver.prepare(sql).get(...values)
  }
}

/** The summary after a turn, if it follows from the turn alone. Undefined: the summary has to be read. */
function summaryAfter({ instance: id, incarnation, create, state }: Turn): ObjectInstanceSummary | undefined {
  if (state === undefined || create?.flow !== undefined) return undefined
  const { status, owner, dueAt } = state
  const isOwned = owner !== undefined
  // For an unowned open instance, messages that came before the turn count, too.
  if (create === undefined && !isTerminal(status) && !(isOwned && status === "running")) return undefined
  return { id, incarnation, status, isOwned, hasMessages: false, dueAt, claimableAt: isOwned ? undefined : dueAt }
}
