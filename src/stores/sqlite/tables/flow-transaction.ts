import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { UniqueUse } from "../../../ports/flow-control.ts"
import type { RowState } from "../../../ports/journal-store.ts"
import type { IsPermitted } from "../../../ports/cloudflare/object-permits.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { Admission, slotsOf, wantsSlots } from "../../shared/slot-admission.ts"
import { AdmissionNews } from "../../shared/flow-rows.ts"
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
  readonly news = new AdmissionNews()
  readonly #driver: SqlDriver
  readonly #row: SqlStatement
  readonly #hasEvents: SqlStatement
  readonly #resting: SqlStatement
  readonly #restingById: SqlStatement

  constructor(driver: SqlDriver, now: () => number, isPermitted?: IsPermitted) {
    this.#driver = driver
    this.table = new FlowTable(driver, now, isPermitted)
    this.unique = new UniqueTable(driver)
    this.admission = new Admission(this.table)
    this.#row = driver.prepare(`SELECT status, uniques, owner FROM perdure_instance WHERE key = ?`)
    this.#hasEvents = driver.prepare(
      `SELECT 1 AS found FROM perdure_inbox WHERE instance = ? AND kind NOT IN ('pause', 'resume', 'cancel', 'terminate') LIMIT 1`,
    )
    const atRest = `limits IS NOT NULL AND status IN ('sleeping', 'waiting')`
    this.#resting = driver.prepare(`SELECT key FROM perdure_instance WHERE owner = ? AND ${atRest}`)
    this.#restingById = driver.prepare(`SELECT key FROM perdure_instance WHERE id = ? AND owner = ? AND ${atRest}`)
  }

  transaction<T>(fn: () => T): T {
    try {
      const result = this.#driver.transaction(fn)
      if (this.table.letIn.length > 0) this.news.tell(this.table.letIn.splice(0))
      return result
    } catch (error) {
      this.table.letIn.length = 0
      this.admission.forget()
      throw error
    }
  }

  get letInCount(): number {
    return this.table.letIn.length
  }

  admit(key: number, now: number): "taken" | "parked" | "none" | undefined {
    const record = this.table.record(key)
    if (record === undefined) return "taken"
    const before = slotsOf(record)
    if (before === "taken" || (before === "none" && !this.#wants(record, now)) || this.admission.admit(record)) return slotsOf(record)
    const isWoken = record.controlAt !== undefined || (record.deadlineAt ?? Infinity) <= now
    return isWoken ? slotsOf(record) : undefined
  }

  begin(key: number, uniques: string | undefined, dueAt: number | undefined, now: number): void {
    if (uniques === undefined || dueAt === undefined || dueAt > now) return
    this.unique.free(
      toUniques(uniques).filter(({ kind }) => kind === "debounce"),
      key,
    )
  }

  isQueued(key: number): boolean {
    const row = this.#found(key)
    return row["status"] === "queued" && row["owner"] === null
  }

  isOwnedBy(key: number, worker: string): boolean {
    return optionalText(this.#found(key), "owner") === worker
  }

  keepUnique(key: number, { status }: RowState): boolean {
    const row = this.#found(key)
    const uniques = toUniques(optionalText(row, "uniques"))
    if (uniques.length === 0) return true
    const of = (kind: string) => uniques.filter((use) => use.kind === kind)
    if (isTerminal(status)) this.unique.free(uniques, key)
    else if (isTerminal(text(row, "status") as Status)) {
      if (!this.unique.areFree(of("singleton"), key)) return false
      this.unique.take(of("singleton"), key)
    } else if (status !== "queued") this.unique.free(of("debounce"), key)
    return true
  }

  settle(key: number, state: RowState, write: () => void): void {
    // What it was in before counts.
    const record = this.table.record(key)
    write()
    if (record) this.admission.settle(record, record.run, state)
  }

  areFree(uses: readonly UniqueUse[]): boolean {
    return this.unique.areFree(uses, undefined)
  }

  take(uses: readonly UniqueUse[], key: number): void {
    this.unique.take(uses, key)
  }

  restingOf(worker: string, id?: string): number[] {
    const rows = id === undefined ? this.#resting.all(toText(worker)) : this.#restingById.all(toText(id), toText(worker))
    return rows.map((row) => integer(row, "key"))
  }

  rest(keys: readonly number[]): void {
    for (const key of keys) {
      const record = this.table.record(key)
      if (record) this.admission.rest(record)
    }
  }

  #wants({ key, status, dueAt }: StoredFlowRecord, now: number): boolean {
    return wantsSlots(status, dueAt, () => this.#hasEvents.get(key) !== undefined, now)
  }

  #found(key: number) {
    const row = this.#row.get(key)
    if (row === undefined) throw new Error("an instance that is looked at is there")
    return row
  }
}
