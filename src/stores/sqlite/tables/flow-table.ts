import { unlimited } from "../../../core/workflow/flow-options.ts"
import type { LimitUse } from "../../../ports/flow-control.ts"
import type { IsPermitted } from "../../../ports/cloudflare/slot-requests.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import type { FlowRows } from "../../shared/slot-admission.ts"
import { type LimitNumbers, recordColumns, type StoredFlowRecord, toRecord } from "../../shared/flow-rows.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, optionalInteger } from "../driver/sql-columns.ts"

/** Slots, queues and rates of limits. All methods run within a transaction of the caller. */
export class FlowTable implements FlowRows<StoredFlowRecord> {
  readonly now: () => number
  /** Instances that the open transaction has admitted, or has given a time to start at. */
  readonly admittedIds: string[] = []
  readonly #isPermitted: IsPermitted | undefined
  readonly #record: SqlStatement
  readonly #numbers: SqlStatement
  readonly #slotCount: SqlStatement
  readonly #holder: SqlStatement
  readonly #addSlot: SqlStatement
  readonly #removeSlot: SqlStatement
  readonly #firstQueued: SqlStatement
  readonly #incrementSeq: SqlStatement
  readonly #seq: SqlStatement
  readonly #tat: SqlStatement
  readonly #setTat: SqlStatement
  readonly #removeOldTats: SqlStatement
  readonly #save: SqlStatement
  readonly #setDueAt: SqlStatement

  /** `isPermitted`: other objects give out the slots; it tells whether the instance of this object holds a slot, and the limits' numbers do not matter. */
  constructor(driver: SqlDriver, now: () => number, isPermitted?: IsPermitted) {
    this.now = now
    this.#isPermitted = isPermitted
    this.#record = driver.prepare(`SELECT ${recordColumns} FROM perdure_instance i WHERE key = ?`)
    this.#numbers = driver.prepare(`SELECT max, per_ms, set_max, set_per_ms FROM perdure_limit WHERE workflow = ? AND name = ?`)
    this.#slotCount = driver.prepare(`SELECT count(*) AS count FROM perdure_slot WHERE limit_key = ?`)
    this.#holder = driver.prepare(`SELECT instance FROM perdure_slot WHERE limit_key = ? LIMIT 1`)
    this.#addSlot = driver.prepare(`INSERT INTO perdure_slot (limit_key, instance) VALUES (?, ?) ON CONFLICT DO NOTHING`)
    this.#removeSlot = driver.prepare(`DELETE FROM perdure_slot WHERE limit_key = ? AND instance = ?`)
    this.#firstQueued = driver.prepare(`SELECT ${recordColumns} FROM perdure_instance i WHERE queued_for = ? ORDER BY queued_priority DESC, queued_seq LIMIT 1`)
    this.#incrementSeq = driver.prepare(`UPDATE perdure_line SET seq = seq + 1 WHERE id = 1`)
    this.#seq = driver.prepare(`SELECT seq FROM perdure_line WHERE id = 1`)
    this.#tat = driver.prepare(`SELECT tat FROM perdure_rate WHERE limit_key = ?`)
    this.#setTat = driver.prepare(`INSERT INTO perdure_rate (limit_key, tat) VALUES (?, ?) ON CONFLICT (limit_key) DO UPDATE SET tat = excluded.tat`)
    this.#removeOldTats = driver.prepare(`DELETE FROM perdure_rate WHERE limit_key IN (SELECT limit_key FROM perdure_rate WHERE tat <= ? LIMIT 2)`)
    this.#save = driver.prepare(
      `UPDATE perdure_instance SET held = ?, paid = ?, queued_for = ?, queued_priority = ?, queued_seq = ?, queued_until = ? WHERE key = ?`,
    )
    this.#setDueAt = driver.prepare(`UPDATE perdure_instance SET due_at = ? WHERE key = ?`)
  }

  /** Undefined if the instance has no limits. */
  record(key: number): StoredFlowRecord | undefined {
    const row = this.#record.get(key)
    return row === undefined || row["limits"] === null ? undefined : toRecord(row)
  }

  numbers(use: LimitUse): LimitNumbers {
    if (this.#isPermitted) return { ...use, max: this.#isPermitted(use) ? unlimited : 0 }
    const row = this.#numbers.get(toText(use.workflow), toText(use.name))
    return row === undefined ? use : (setNumbers(row) ?? declaredNumbers(row))
  }

  slotsInUse(limitKey: string): number {
    const row = this.#slotCount.get(toText(limitKey))
    return row === undefined ? 0 : integer(row, "count")
  }

  holder(limitKey: string): StoredFlowRecord | undefined {
    const row = this.#holder.get(toText(limitKey))
    return row === undefined ? undefined : this.record(integer(row, "instance"))
  }

  addHolder(limitKey: string, { key }: StoredFlowRecord): void {
    this.#addSlot.run(toText(limitKey), key)
  }

  removeHolder(limitKey: string, { key }: StoredFlowRecord): void {
    this.#removeSlot.run(toText(limitKey), key)
  }

  firstQueued(limitKey: string): StoredFlowRecord | undefined {
    const row = this.#firstQueued.get(toText(limitKey))
    return row === undefined ? undefined : toRecord(row)
  }

  nextQueueSeq(): number {
    this.#incrementSeq.run()
    const row = this.#seq.get()
    if (row === undefined) throw new Error("the row that numbers those in line is missing")
    return integer(row, "seq")
  }

  tat(limitKey: string): number | undefined {
    const row = this.#tat.get(toText(limitKey))
    return row === undefined ? undefined : integer(row, "tat")
  }

  setTat(limitKey: string, tat: number): void {
    this.#setTat.run(toText(limitKey), tat)
    // A time that has passed limits no start any more. Two for each that is written: they become fewer.
    this.#removeOldTats.run(this.now())
  }

  save(record: StoredFlowRecord): void {
    const { limitsHeld: held, isStartCounted: isPaid, queuedFor, queuedPriority, queuedSeq, queuedUntil = null, key } = record
    if (queuedFor === undefined) this.#save.run(held, isPaid ? 1 : 0, null, null, null, null, key)
    else this.#save.run(held, isPaid ? 1 : 0, toText(queuedFor), queuedPriority, queuedSeq, queuedUntil, key)
  }

  onAdmitted({ key, id, dueAt }: StoredFlowRecord): void {
    const now = this.now()
    if (dueAt === undefined || dueAt > now) this.#setDueAt.run(now, key)
    this.admittedIds.push(id)
  }

  onStartScheduled({ id }: StoredFlowRecord): void {
    this.admittedIds.push(id)
  }
}

export function declaredNumbers(row: SqlRow): LimitNumbers {
  const perMs = optionalInteger(row, "per_ms")
  return { max: integer(row, "max"), ...(perMs === undefined ? {} : { perMs }) }
}

export function setNumbers(row: SqlRow): LimitNumbers | undefined {
  const max = optionalInteger(row, "set_max")
  const perMs = optionalInteger(row, "set_per_ms")
  return max === undefined ? undefined : { max, ...(perMs === undefined ? {} : { perMs }) }
}
