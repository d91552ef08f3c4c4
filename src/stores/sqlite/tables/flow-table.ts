import { unlimited } from "../../../core/workflow/flow-options.ts"
import type { LimitUse } from "../../../ports/flow-control.ts"
import type { IsPermitted } from "../../../ports/cloudflare/slot-requests.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import type { FlowRows } from "../../shared/slot-admission.ts"
import { type LimitNumbers, recordColumns, type StoredFlowRecord, toRecord } from "../../shared/flow-rows.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, optionalInteger } from "../driver/sql-columns.ts"

/** Slots, lines and rates. Everything within a transaction of its caller. */
export class FlowTable implements FlowRows<StoredFlowRecord> {
  readonly now: () => number
  /** Let in, or given a time, by the transaction that is under way. */
  readonly admittedIds: string[] = []
  readonly #isPermitted: IsPermitted | undefined
  readonly #record: SqlStatement
  readonly #numbers: SqlStatement
  readonly #used: SqlStatement
  readonly #holder: SqlStatement
  readonly #take: SqlStatement
  readonly #give: SqlStatement
  readonly #next: SqlStatement
  readonly #step: SqlStatement
  readonly #seq: SqlStatement
  readonly #tat: SqlStatement
  readonly #setTat: SqlStatement
  readonly #dropTats: SqlStatement
  readonly #save: SqlStatement
  readonly #dueNow: SqlStatement

  /** `isPermitted`: slots are given out elsewhere, and this one is ours or not; whatever the numbers are. */
  constructor(driver: SqlDriver, now: () => number, isPermitted?: IsPermitted) {
    this.now = now
    this.#isPermitted = isPermitted
    this.#record = driver.prepare(`SELECT ${recordColumns} FROM perdure_instance i WHERE key = ?`)
    this.#numbers = driver.prepare(`SELECT max, per_ms, set_max, set_per_ms FROM perdure_limit WHERE workflow = ? AND name = ?`)
    this.#used = driver.prepare(`SELECT count(*) AS count FROM perdure_slot WHERE limit_key = ?`)
    this.#holder = driver.prepare(`SELECT instance FROM perdure_slot WHERE limit_key = ? LIMIT 1`)
    this.#take = driver.prepare(`INSERT INTO perdure_slot (limit_key, instance) VALUES (?, ?) ON CONFLICT DO NOTHING`)
    this.#give = driver.prepare(`DELETE FROM perdure_slot WHERE limit_key = ? AND instance = ?`)
    this.#next = driver.prepare(`SELECT ${recordColumns} FROM perdure_instance i WHERE parked_on = ? ORDER BY parked_priority DESC, parked_seq LIMIT 1`)
    this.#step = driver.prepare(`UPDATE perdure_line SET seq = seq + 1 WHERE id = 1`)
    this.#seq = driver.prepare(`SELECT seq FROM perdure_line WHERE id = 1`)
    this.#tat = driver.prepare(`SELECT tat FROM perdure_rate WHERE limit_key = ?`)
    this.#setTat = driver.prepare(`INSERT INTO perdure_rate (limit_key, tat) VALUES (?, ?) ON CONFLICT (limit_key) DO UPDATE SET tat = excluded.tat`)
    this.#dropTats = driver.prepare(`DELETE FROM perdure_rate WHERE limit_key IN (SELECT limit_key FROM perdure_rate WHERE tat <= ? LIMIT 2)`)
    this.#save = driver.prepare(
      `UPDATE perdure_instance SET held = ?, paid = ?, parked_on = ?, parked_priority = ?, parked_seq = ?, parked_until = ? WHERE key = ?`,
    )
    this.#dueNow = driver.prepare(`UPDATE perdure_instance SET due_at = ? WHERE key = ?`)
  }

  /** Undefined: it has no limits. */
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
    const row = this.#used.get(toText(limitKey))
    return row === undefined ? 0 : integer(row, "count")
  }

  holder(limitKey: string): StoredFlowRecord | undefined {
    const row = this.#holder.get(toText(limitKey))
    return row === undefined ? undefined : this.record(integer(row, "instance"))
  }

  addHolder(limitKey: string, { key }: StoredFlowRecord): void {
    this.#take.run(toText(limitKey), key)
  }

  removeHolder(limitKey: string, { key }: StoredFlowRecord): void {
    this.#give.run(toText(limitKey), key)
  }

  firstQueued(limitKey: string): StoredFlowRecord | undefined {
    const row = this.#next.get(toText(limitKey))
    return row === undefined ? undefined : toRecord(row)
  }

  nextQueueSeq(): number {
    this.#step.run()
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
    // One that is over says nothing more. Two for each that is written: they become fewer.
    this.#dropTats.run(this.now())
  }

  save(record: StoredFlowRecord): void {
    const { limitsHeld: held, isStartCounted: isPaid, parkedOn, parkedPriority, parkedSeq, parkedUntil = null, key } = record
    if (parkedOn === undefined) this.#save.run(held, isPaid ? 1 : 0, null, null, null, null, key)
    else this.#save.run(held, isPaid ? 1 : 0, toText(parkedOn), parkedPriority, parkedSeq, parkedUntil, key)
  }

  onAdmitted({ key, id, dueAt }: StoredFlowRecord): void {
    const now = this.now()
    if (dueAt === undefined || dueAt > now) this.#dueNow.run(now, key)
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
