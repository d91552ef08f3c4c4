import type { LimitUse } from "../../../../ports/flow-control.ts"
import type { SlotAsk, SlotMember } from "../../../../ports/cloudflare/limit-key.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../../ports/sql-driver.ts"
import type { FlowRecord, FlowRows } from "../../../shared/slot-admission.ts"
import { holdersNamedMax, type LimitNumbers } from "../../../shared/flow-rows.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { integer, optionalInteger, text } from "../../driver/sql-columns.ts"

/** An instance that holds a slot of the key, or queues for one. */
export interface MemberRecord extends FlowRecord {
  readonly id: string
  readonly incarnation: string
}

/** The numbers in force for the key. Undefined: the numbers that a member brings along are in force. */
export type NumbersOf = (use: LimitUse) => LimitNumbers | undefined

const columns = "key, id, incarnation, use, priority, cancelling, held, paid, queued_priority, queued_seq, queued_until"

/** The rows of one limit key, for slot admission. All rows belong to this key, so the parameter `limitKey` is ignored. Callers are in a transaction. */
export class LimitMembers implements FlowRows<MemberRecord> {
  readonly now: () => number
  readonly #numbersOf: NumbersOf
  readonly #find: SqlStatement
  readonly #join: SqlStatement
  readonly #leave: SqlStatement
  readonly #slotCount: SqlStatement
  readonly #holder: SqlStatement
  readonly #holders: SqlStatement
  readonly #setSlot: SqlStatement
  readonly #firstQueued: SqlStatement
  readonly #seq: SqlStatement
  readonly #ahead: SqlStatement
  readonly #tat: SqlStatement
  readonly #setTat: SqlStatement
  readonly #save: SqlStatement
  readonly #setMustNotify: SqlStatement
  readonly #unnotified: SqlStatement
  readonly #due: SqlStatement
  readonly #nextDue: SqlStatement
  readonly #silentHolders: SqlStatement
  readonly #setSeenAt: SqlStatement
  readonly #anyMember: SqlStatement

  constructor(driver: SqlDriver, now: () => number, numbersOf: NumbersOf) {
    this.now = now
    this.#numbersOf = numbersOf
    const select = (rest: string) => driver.prepare(`SELECT ${columns} FROM perdure_limit_member WHERE ${rest}`)
    const firstQueued = `queued_seq IS NOT NULL ORDER BY queued_priority DESC, queued_seq LIMIT 1`
    this.#find = select(`id = ? AND incarnation = ?`)
    this.#join = driver.prepare(
      `INSERT INTO perdure_limit_member (id, incarnation, use, priority, cancelling, seen_at) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id, incarnation) DO UPDATE SET use = excluded.use, cancelling = excluded.cancelling, seen_at = excluded.seen_at, must_notify = 0`,
    )
    this.#leave = driver.prepare(`DELETE FROM perdure_limit_member WHERE key = ?`)
    this.#slotCount = driver.prepare(`SELECT count(*) AS count FROM perdure_limit_member WHERE slot = 1`)
    this.#holder = select(`slot = 1 LIMIT 1`)
    this.#holders = driver.prepare(`SELECT id FROM perdure_limit_member WHERE slot = 1 ORDER BY key LIMIT ${holdersNamedMax}`)
    this.#setSlot = driver.prepare(`UPDATE perdure_limit_member SET slot = ? WHERE key = ?`)
    this.#firstQueued = select(firstQueued)
    this.#seq = driver.prepare(`SELECT ifnull(max(queued_seq), 0) + 1 AS seq FROM perdure_limit_member WHERE queued_seq IS NOT NULL`)
    this.#ahead = driver.prepare(
      `SELECT count(*) AS count FROM perdure_limit_member
      WHERE queued_seq IS NOT NULL AND (queued_priority > ? OR (queued_priority = ? AND queued_seq < ?))`,
    )
    this.#tat = driver.prepare(`SELECT tat FROM perdure_limit_rate WHERE id = 1`)
    this.#setTat = driver.prepare(`INSERT INTO perdure_limit_rate (id, tat) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET tat = excluded.tat`)
    this.#save = driver.prepare(`UPDATE perdure_limit_member SET held = ?, paid = ?, queued_priority = ?, queued_seq = ?, queued_until = ? WHERE key = ?`)
    this.#setMustNotify = driver.prepare(`UPDATE perdure_limit_member SET must_notify = ? WHERE key = ?`)
    this.#unnotified = select(`must_notify = 1 ORDER BY key LIMIT ?`)
    this.#due = select(`queued_until <= ? ORDER BY queued_until LIMIT 1`)
    this.#nextDue = driver.prepare(`SELECT min(queued_until) AS at FROM perdure_limit_member WHERE queued_until IS NOT NULL`)
    this.#setSeenAt = driver.prepare(`UPDATE perdure_limit_member SET seen_at = ? WHERE id = ? AND incarnation = ?`)
    this.#anyMember = driver.prepare(`SELECT 1 AS found FROM perdure_limit_member LIMIT 1`)
    this.#silentHolders = select(`slot = 1 AND seen_at <= ? ORDER BY seen_at LIMIT ?`)
  }

  find({ id, incarnation }: SlotMember): MemberRecord | undefined {
    return record(this.#find.get(toText(id), toText(incarnation)))
  }

  /** Stores a request of the member, its first or a repeated one. */
  join({ id, incarnation, use, priority, isCancelling = false }: SlotAsk): MemberRecord {
    this.#join.run(toText(id), toText(incarnation), JSON.stringify(use), priority, isCancelling ? 1 : 0, this.now())
    const joined = this.find({ id, incarnation })
    if (joined === undefined) throw new Error("a member that has joined is there")
    return joined
  }

  leave({ key }: MemberRecord): void {
    this.#leave.run(key)
  }

  numbers(use: LimitUse): LimitNumbers {
    return this.#numbersOf(use) ?? use
  }

  slotsInUse(): number {
    return count(this.#slotCount.get())
  }

  holder(): MemberRecord | undefined {
    return record(this.#holder.get())
  }

  holders(): readonly string[] {
    return this.#holders.all().map((row) => text(row, "id"))
  }

  addHolder(_limitKey: string, { key }: MemberRecord): void {
    this.#setSlot.run(1, key)
  }

  removeHolder(_limitKey: string, { key }: MemberRecord): void {
    this.#setSlot.run(0, key)
  }

  firstQueued(): MemberRecord | undefined {
    return record(this.#firstQueued.get())
  }

  nextQueueSeq(): number {
    const row = this.#seq.get()
    return row === undefined ? 1 : integer(row, "seq")
  }

  ahead({ queuedPriority, queuedSeq }: MemberRecord): number {
    return count(this.#ahead.get(queuedPriority, queuedPriority, queuedSeq))
  }

  tat(): number | undefined {
    const row = this.#tat.get()
    return row === undefined ? undefined : integer(row, "tat")
  }

  setTat(_limitKey: string, tat: number): void {
    this.#setTat.run(tat)
  }

  save({ limitsHeld: held, isStartCounted: isPaid, queuedFor, queuedPriority, queuedSeq, queuedUntil, key }: MemberRecord): void {
    const line = queuedFor === undefined ? [null, null, null] : [queuedPriority, queuedSeq, queuedUntil ?? null]
    this.#save.run(held, isPaid ? 1 : 0, ...line, key)
  }

  onAdmitted({ key }: MemberRecord): void {
    this.#setMustNotify.run(1, key)
  }

  /** Nothing to do: the key's alarm wakes it at that time. */
  onStartScheduled(): void {}

  unnotified(limit: number): readonly SlotMember[] {
    return this.#unnotified.all(limit).map(toMember)
  }

  markNotified(member: MemberRecord): void {
    this.#setMustNotify.run(0, member.key)
  }

  due(): MemberRecord | undefined {
    return record(this.#due.get(this.now()))
  }

  nextDueAt(): number | undefined {
    const row = this.#nextDue.get()
    return row && optionalInteger(row, "at")
  }

  isEmpty(): boolean {
    return this.#anyMember.get() === undefined
  }

  markSeen({ id, incarnation }: SlotMember): void {
    this.#setSeenAt.run(this.now(), toText(id), toText(incarnation))
  }

  /** Members that hold a slot and have not called since `at`. */
  silentHolders(at: number, limit: number): readonly SlotMember[] {
    return this.#silentHolders.all(at, limit).map(toMember)
  }
}

function count(row: SqlRow | undefined): number {
  return row === undefined ? 0 : integer(row, "count")
}

function toMember(row: SqlRow): SlotMember {
  return { id: text(row, "id"), incarnation: text(row, "incarnation") }
}

function record(row: SqlRow | undefined): MemberRecord | undefined {
  if (row === undefined) return undefined
  const use = JSON.parse(text(row, "use")) as LimitUse
  const queuedSeq = optionalInteger(row, "queued_seq")
  return {
    key: integer(row, "key"),
    ...toMember(row),
    uses: [use],
    priority: integer(row, "priority"),
    isCancelling: row["cancelling"] === 1,
    limitsHeld: integer(row, "held"),
    isStartCounted: row["paid"] === 1,
    queuedFor: queuedSeq === undefined ? undefined : use.key,
    queuedPriority: optionalInteger(row, "queued_priority") ?? 0,
    queuedSeq: queuedSeq ?? 0,
    queuedUntil: optionalInteger(row, "queued_until"),
  }
}
