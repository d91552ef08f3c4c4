import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { UniqueUse } from "../../../ports/flow-control.ts"
import type { RowState } from "../../../ports/journal-store.ts"
import type { IsPermitted } from "../../../ports/cloudflare/slot-requests.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { Admission, slotStateOf, wantsSlots } from "../../shared/slot-admission.ts"
import { AdmissionNotifier } from "../../shared/flow-rows.ts"
import { FlowTable } from "./flow-table.ts"
import type { StoredFlowRecord } from "../../shared/flow-rows.ts"
import { toUniques } from "../../shared/instance-rows.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, optionalText, text } from "../driver/sql-columns.ts"
import type { TurnFlow } from "./turn-flow-port.ts"
import { UniqueTable } from "./unique-table.ts"

export class SqliteFlowTransaction implements TurnFlow {
  readonly table: FlowTable
  readonly unique: UniqueTable
  readonly admission: Admission<StoredFlowRecord>
  readonly notifier = new AdmissionNotifier()
  readonly #driver: SqlDriver
  readonly #row: SqlStatement
  readonly #hasEvents: SqlStatement
  readonly #idle: SqlStatement
  readonly #idleById: SqlStatement

  constructor(driver: SqlDriver, now: () => number, isPermitted?: IsPermitted) {
    this.#driver = driver
    this.table = new FlowTable(driver, now, isPermitted)
    this.unique = new UniqueTable(driver)
    this.admission = new Admission(this.table)
    this.#row = driver.prepare(`SELECT status, uniques, owner FROM perdure_instance WHERE key = ?`)
    this.#hasEvents = driver.prepare(
      `SELECT 1 AS found FROM perdure_inbox WHERE instance = ? AND kind NOT IN ('pause', 'resume', 'cancel', 'terminate') LIMIT 1`,
    )
    const isIdle = `limits IS NOT NULL AND status IN ('sleeping', 'waiting')`
    this.#idle = driver.prepare(`SELECT key FROM perdure_instance WHERE owner = ? AND ${isIdle}`)
    this.#idleById = driver.prepare(`SELECT key FROM perdure_instance WHERE id = ? AND owner = ? AND ${isIdle}`)
  }

  transaction<T>(fn: () => T): T {
    try {
      const result = this.#driver.transaction(fn)
      if (this.table.admittedIds.length > 0) this.notifier.notify(this.table.admittedIds.splice(0))
      return result
    } catch (error) {
      this.table.admittedIds.length = 0
      this.admission.reset()
      throw error
    }
  }

  get admittedCount(): number {
    return this.table.admittedIds.length
  }

  tryAdmit(key: number, now: number): "taken" | "queuedForSlot" | "none" | undefined {
    const record = this.table.record(key)
    if (record === undefined) return "taken"
    const before = slotStateOf(record)
    if (before === "taken" || (before === "none" && !this.#wants(record, now)) || this.admission.tryAdmit(record)) return slotStateOf(record)
    const mayBeClaimed = record.controlAt !== undefined || (record.deadlineAt ?? Infinity) <= now
    return mayBeClaimed ? slotStateOf(record) : undefined
  }

  releaseDebounceKeys(key: number, uniques: string | undefined, dueAt: number | undefined, now: number): void {
    if (uniques === undefined || dueAt === undefined || dueAt > now) return
    this.unique.release(
      toUniques(uniques).filter(({ kind }) => kind === "debounce"),
      key,
    )
  }

  isQueued(key: number): boolean {
    const row = this.#readRow(key)
    return row["status"] === "queued" && row["owner"] === null
  }

  isOwnedBy(key: number, worker: string): boolean {
    return optionalText(this.#readRow(key), "owner") === worker
  }

  updateUniqueKeys(key: number, { status }: RowState): boolean {
    const row = this.#readRow(key)
    const uniques = toUniques(optionalText(row, "uniques"))
    if (uniques.length === 0) return true
    const of = (kind: string) => uniques.filter((use) => use.kind === kind)
    if (isTerminal(status)) this.unique.release(uniques, key)
    else if (isTerminal(text(row, "status") as Status)) {
      if (!this.unique.areFree(of("singleton"), key)) return false
      this.unique.acquire(of("singleton"), key)
    } else if (status !== "queued") this.unique.release(of("debounce"), key)
    return true
  }

  applyState(key: number, state: RowState, write: () => void): void {
    // Read before the write: the run that the instance was in before decides whether a new run begins.
    const record = this.table.record(key)
    write()
    if (record) this.admission.applyState(record, record.run, state)
  }

  areUniqueKeysFree(uses: readonly UniqueUse[]): boolean {
    return this.unique.areFree(uses, undefined)
  }

  takeUniqueKeys(uses: readonly UniqueUse[], key: number): void {
    this.unique.acquire(uses, key)
  }

  idleWithLimits(worker: string, id?: string): number[] {
    const rows = id === undefined ? this.#idle.all(toText(worker)) : this.#idleById.all(toText(id), toText(worker))
    return rows.map((row) => integer(row, "key"))
  }

  releaseSlots(keys: readonly number[]): void {
    for (const key of keys) {
      const record = this.table.record(key)
      if (record) this.admission.releaseSlots(record)
    }
  }

  #wants({ key, status, dueAt }: StoredFlowRecord, now: number): boolean {
    return wantsSlots(status, dueAt, () => this.#hasEvents.get(key) !== undefined, now)
  }

  #readRow(key: number) {
    const row = this.#row.get(key)
    if (row === undefined) throw new Error("an instance that is looked at is there")
    return row
  }
}
