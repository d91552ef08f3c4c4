import { isControl } from "../../core/control.ts"
import { scheduleIdOf } from "../../core/schedule.ts"
import type { Status } from "../../core/status.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { NewMessage, Turn } from "../../ports/journal-store.ts"
import type { IndexCopy, IndexNews, ObjectTables, OutgoingMessage, Standing } from "../../ports/object-tables.ts"
import type { SqlDriver, SqlRow } from "../../ports/sql-driver.ts"
import type { TurnOutlet } from "../../ports/turn-outlet.ts"
import { toText } from "../odd-text.ts"
import { InboxTable } from "./inbox-table.ts"
import { instanceColumns, toInstanceRow } from "./instance-row.ts"
import { JournalTable } from "./journal-table.ts"
import { migrate, versionOf } from "./migrate.ts"
import { objectMigrations, objectParts } from "./object-schema.ts"
import { permitParts } from "./sqlite-object-permits.ts"
import { scheduleParts } from "./sqlite-object-schedule.ts"
import { OutboxTable } from "./outbox-table.ts"
import { integer, optionalInteger, optionalText, text } from "./sql-columns.ts"

/**
 *   object    one row: how far the index has heard, and what it is still to hear
 *   outbox    messages to other objects
 *   received  how far this object has heard each other one
 *   refused   incarnations that must not begin: the order to end them came before them, or they are deleted. Kept for a while.
 */
const parts: Readonly<Record<string, readonly string[]>> = {
  perdure_object: [
    `CREATE TABLE perdure_object (
      id INTEGER PRIMARY KEY,
      life TEXT NOT NULL,
      index_wanted INTEGER NOT NULL,
      index_known INTEGER NOT NULL,
    index_shard TEXT,
      removed_id TEXT,
      removed_incarnation TEXT
    ) STRICT`,
    `INSERT INTO perdure_object (id, life, index_wanted, index_known) VALUES (1, lower(hex(randomblob(12))), 0, 0)`,
  ],
  ...OutboxTable.parts,
  perdure_received: [`CREATE TABLE perdure_received (sender TEXT PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID`],
  perdure_refused: [`CREATE TABLE perdure_refused (incarnation TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID`],
}

/** What makes a table of an instance's object that is not there yet: most objects never need most of them. */
export function objectTableParts(name: string): readonly string[] {
  return parts[name] ?? permitParts[name] ?? scheduleParts[name] ?? objectParts(name)
}

const refusedForMs = 24 * 60 * 60 * 1_000

export class SqliteObjectTables implements ObjectTables {
  readonly #driver: SqlDriver
  readonly #now: () => number
  #isThere: boolean | undefined
  #isPrepared = false
  /** What the index shows, as of the last turn that this object wrote. */
  #shown: string | undefined
  #life: string | undefined
  #hasOutgoing: boolean | undefined
  #keptUntil: number | undefined | null = null
  #parts: { readonly inbox: InboxTable; readonly outbox: OutboxTable } | undefined

  readonly outlet: TurnOutlet = {
    send: (message) => {
      this.#hasOutgoing = true
      this.#outbox.add(message)
    },
    wrote: (turn) => this.#noteForIndex(turn),
  }

  constructor(driver: SqlDriver, now: () => number) {
    this.#driver = driver
    this.#now = now
  }

  isThere(): boolean {
    this.#isThere ??= versionOf(this.#driver).version > 0
    return this.#isThere
  }

  prepare(): void {
    if (this.#isPrepared) return
    migrate(this.#driver, objectMigrations)
    const there = this.#driver.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all()
    const has = (name: string) => there.some((row) => row["name"] === name)
    if (!has("perdure_outbox")) this.#hasOutgoing = false
    if (!has("perdure_refused")) this.#keptUntil = undefined
    this.#isThere = true
    this.#isPrepared = true
  }

  /** All was deleted. */
  forget(): void {
    this.#isThere = false
    this.#isPrepared = false
    this.#shown = undefined
    this.#life = undefined
    this.#hasOutgoing = undefined
    this.#keptUntil = null
  }

  get #outbox(): OutboxTable {
    return this.#both.outbox
  }

  get #both(): { readonly inbox: InboxTable; readonly outbox: OutboxTable } {
    this.#parts ??= { inbox: new InboxTable(this.#driver), outbox: new OutboxTable(this.#driver) }
    return this.#parts
  }

  standing(): Standing | undefined {
    const row = this.#one(
      `SELECT id, incarnation, status, owner, due_at, claimable_at, mail_at,
        (SELECT position + count - 1 FROM perdure_journal WHERE instance = i.key ORDER BY position DESC LIMIT 1) AS position
      FROM perdure_instance i LIMIT 1`,
    )
    if (row === undefined) return undefined
    const dueAt = optionalInteger(row, "due_at")
    const claimableAt = optionalInteger(row, "claimable_at")
    return {
      id: text(row, "id"),
      incarnation: text(row, "incarnation"),
      status: text(row, "status") as Status,
      isOwned: row["owner"] !== null,
      hasMail: row["mail_at"] !== null,
      position: optionalInteger(row, "position") ?? 0,
      ...(dueAt === undefined ? undefined : { dueAt }),
      ...(claimableAt === undefined ? undefined : { claimableAt }),
    }
  }

  outgoing(limit: number, except: readonly string[] = []): readonly OutgoingMessage[] {
    // Asked after every turn: most have nothing to send.
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
    this.#life ??= text(this.#one(`SELECT life FROM perdure_object`) ?? {}, "life")
    return this.#life
  }

  take(from: string, messages: readonly OutgoingMessage[]): readonly Delivery[] {
    return this.#driver.transaction(() => {
      const row = this.#one(`SELECT seq FROM perdure_received WHERE sender = ?`, from)
      const heard = row === undefined ? 0 : integer(row, "seq")
      const deliveries = messages.map(({ seq, message }) => (seq <= heard ? "duplicate" : this.#deliver(message)))
      const last = messages.at(-1)?.seq ?? 0
      if (last > heard) {
        const note = `INSERT INTO perdure_received (sender, seq) VALUES (?, ?) ON CONFLICT (sender) DO UPDATE SET seq = excluded.seq`
        this.#driver.prepare(note).run(from, last)
      }
      return deliveries
    })
  }

  #deliver(message: NewMessage): Delivery {
    const now = this.#now()
    const delivery = this.#both.inbox.deliver(message, now)
    if (delivery === "absent" && message.incarnation !== undefined && isControl(message.kind)) this.#refuse(message.incarnation, now)
    return delivery
  }

  isRefused(incarnation: string): boolean {
    return this.keptUntil() !== undefined && this.#one(`SELECT 1 AS found FROM perdure_refused WHERE incarnation = ?`, toText(incarnation)) !== undefined
  }

  #refuse(incarnation: string, now: number): void {
    this.#keptUntil = null
    this.#driver.prepare(`INSERT OR IGNORE INTO perdure_refused (incarnation, at) VALUES (?, ?)`).run(toText(incarnation), now)
  }

  keptUntil(): number | undefined {
    if (this.#keptUntil === null) {
      const at = optionalInteger(this.#one(`SELECT max(at) AS at FROM perdure_refused`) ?? { at: null }, "at")
      this.#keptUntil = at === undefined ? undefined : at + refusedForMs
    }
    return this.#keptUntil
  }

  dropOld(): void {
    if (this.keptUntil() === undefined) return
    this.#keptUntil = null
    this.#driver.prepare(`DELETE FROM perdure_refused WHERE at <= ?`).run(this.#now() - refusedForMs)
  }

  indexNews(): IndexNews {
    const row = this.#one(`SELECT index_wanted, index_known, index_shard, removed_id, removed_incarnation FROM perdure_object`)
    if (row === undefined) return { known: 0 }
    const wanted = integer(row, "index_wanted")
    const known = integer(row, "index_known")
    const shard = optionalText(row, "index_shard")
    const id = optionalText(row, "removed_id")
    const incarnation = optionalText(row, "removed_incarnation")
    return {
      known,
      ...(wanted > known ? { wanted } : undefined),
      ...(shard === undefined ? undefined : { shard }),
      ...(id === undefined || incarnation === undefined ? undefined : { removed: { id, incarnation } }),
    }
  }

  indexCopy(from: number): IndexCopy | undefined {
    const found = this.#one(`SELECT ${instanceColumns} FROM perdure_instance i LIMIT 1`)
    if (found === undefined) return undefined
    const row = toInstanceRow(found)
    const rows = new JournalTable(this.#driver).read(row.id, from)
    const last = rows.at(-1)
    return { row, rows, revision: last === undefined ? 0 : last.position + last.count - 1 }
  }

  indexing(shard: string): void {
    this.#driver.prepare(`UPDATE perdure_object SET index_shard = ?`).run(shard)
  }

  indexed(revision: number, shard: string): void {
    this.#driver.prepare(`UPDATE perdure_object SET index_known = max(index_known, ?), index_shard = ?`).run(revision, shard)
  }

  unindexed(incarnation: string): void {
    this.#driver.prepare(`UPDATE perdure_object SET removed_id = NULL, removed_incarnation = NULL WHERE removed_incarnation = ?`).run(toText(incarnation))
  }

  removed({ id, incarnation }: { readonly id: string; readonly incarnation: string }): void {
    this.#shown = undefined
    // The order of a schedule may come once more, and must not begin it anew.
    if (scheduleIdOf(id) !== undefined) this.#refuse(incarnation, this.#now())
    this.#driver
      .prepare(`UPDATE perdure_object SET index_wanted = 0, index_known = 0, removed_id = ?, removed_incarnation = ?`)
      .run(toText(id), toText(incarnation))
  }

  /** The index shows what changes rarely: a step, or ten thousand of them, are no news there. */
  #noteForIndex({ create, state, tags, memo, position, count }: Turn): void {
    const shows = state && `${state.status}/${state.phase ?? ""}/${state.run}`
    if (create === undefined && tags === undefined && memo === undefined && (shows === undefined || shows === this.#shown)) return
    this.#shown = shows ?? this.#shown
    this.#driver.prepare(`UPDATE perdure_object SET index_wanted = ?`).run(position + count - 1)
  }

  #one(sql: string, ...values: (string | number)[]): SqlRow | undefined {
    return this.#driver.prepare(sql).get(...values)
  }
}
