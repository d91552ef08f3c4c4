import type { LimitUse, UniqueUse } from "../../../ports/flow-control.ts"
import type { SlotMember } from "../../../ports/cloudflare/limit-key.ts"
import type { SlotRequests, SlotRequest, SlotRequestWork } from "../../../ports/cloudflare/slot-requests.ts"
import type { SqlDriver, SqlRow, SqlValue } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { uniqueKeyUse } from "../../shared/flow-rows.ts"
import { toUniques, toUses } from "../../shared/instance-rows.ts"
import { limitColumns, getOrRead } from "./object-read-cache.ts"
import { readInstanceRow } from "./object-instance-row.ts"
import { integer, optionalText, text } from "../driver/sql-columns.ts"

/** Only objects of instances with limits or unique keys have this table. `state`: asked, held or returning. */
export const slotTableDefinitions: Readonly<Record<string, readonly string[]>> = {
  perdure_slot_request: [
    `CREATE TABLE perdure_slot_request (
      key TEXT PRIMARY KEY,
      state TEXT NOT NULL,
      id TEXT NOT NULL,
      incarnation TEXT NOT NULL,
      use TEXT NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
}

type RequestState = "asked" | "held" | "returning"

export class ObjectSlotTable implements SlotRequests {
  readonly #driver: SqlDriver
  /** Unique keys of an instance that is about to be created, and its incarnation. */
  readonly #reserved = new Map<string, string>()
  /** Admits the instance if it queues for one of these keys. The store sets this function. */
  admit: (keys: readonly string[]) => void = () => undefined

  constructor(driver: SqlDriver) {
    this.#driver = driver
  }

  /** Whether the instance holds a slot of the limit. Called inside the store's transaction. */
  readonly isPermitted = ({ key }: LimitUse): boolean =>
    this.#row(`SELECT 1 AS found FROM perdure_slot_request WHERE key = ? AND state = 'held'`, toText(key)) !== undefined

  work(): SlotRequestWork {
    const instance = this.#instance()
    const rows = this.#tableExists() ? this.#rows(`SELECT key, state, id, incarnation, use FROM perdure_slot_request`) : []
    if (rows.length === 0 && (instance === undefined || instance.queuedFor === undefined)) return noWork
    const wanted = this.#wanted(instance)
    const asks: SlotRequest[] = []
    const gives: { key: string; member: SlotMember }[] = []
    for (const row of rows) {
      const key = text(row, "key")
      const member = { id: text(row, "id"), incarnation: text(row, "incarnation") }
      const isWanted = this.#reserved.get(key) === member.incarnation || (wanted.has(key) && member.incarnation === instance?.incarnation)
      if (!isWanted && row["state"] !== "returning") this.#setState(key, "returning")
      if (!isWanted || row["state"] === "returning") gives.push({ key, member })
    }
    const use = instance?.limits.find(({ key }) => key === instance.queuedFor)
    if (instance && use && !gives.some(({ key }) => key === use.key)) {
      const known = rows.find((row) => text(row, "key") === use.key)
      if (known === undefined) this.#add(instance, use)
      if (known?.["state"] !== "held") asks.push({ key: use.key, ask: askOf(instance, use) })
    }
    return { asks, gives }
  }

  granted(key: string): void {
    this.#setState(key, "held")
    this.admit([key])
  }

  /** For an object that died after it got a slot and before it admitted the instance. */
  admitHeld(): void {
    const queuedFor = this.#instance()?.queuedFor
    if (queuedFor !== undefined && this.#tableExists()) this.admit([queuedFor])
  }

  returned(key: string): void {
    this.#driver.prepare(`DELETE FROM perdure_slot_request WHERE key = ? AND state = 'returning'`).run(toText(key))
  }

  reserve(member: SlotMember, uses: readonly UniqueUse[]): readonly SlotRequest[] | undefined {
    return this.#driver.transaction(() => {
      if (this.#hasOtherIncarnation(member)) return undefined
      return uses.map(uniqueKeyUse).map((use) => {
        this.#reserved.set(use.key, member.incarnation)
        this.#add(member, use)
        return { key: use.key, ask: { ...member, use, priority: 0 } }
      })
    })
  }

  settled({ incarnation }: SlotMember, uses: readonly UniqueUse[]): void {
    for (const { key } of uses.map(uniqueKeyUse)) if (this.#reserved.get(key) === incarnation) this.#reserved.delete(key)
  }

  /** Whether the object has another incarnation, whose keys a new reservation would overwrite, so that they would never be returned. */
  #hasOtherIncarnation({ incarnation }: SlotMember): boolean {
    const queries = ["perdure_instance", "perdure_slot_request"].map((table) => `SELECT 1 AS found FROM ${table} WHERE incarnation <> ? LIMIT 1`)
    return queries.some((sql) => this.#row(sql, toText(incarnation)) !== undefined)
  }

  holds({ id, incarnation }: SlotMember, key: string): boolean {
    if (!this.#tableExists()) return false
    const sql = `SELECT 1 AS found FROM perdure_slot_request WHERE key = ? AND id = ? AND incarnation = ? AND state <> 'returning'`
    return this.#row(sql, toText(key), toText(id), toText(incarnation)) !== undefined
  }

  isEmpty(): boolean {
    return !this.#tableExists() || this.#row(`SELECT 1 AS found FROM perdure_slot_request LIMIT 1`) === undefined
  }

  #wanted(instance: Instance | undefined): ReadonlySet<string> {
    if (instance === undefined) return new Set()
    const slots = instance.limits.length === 0 ? [] : this.#rows(`SELECT limit_key FROM perdure_slot`).map((row) => text(row, "limit_key"))
    const unique = instance.hasUnique ? this.#rows(`SELECT kind, key FROM perdure_unique`).map((row) => uniqueKeyUse(toUnique(row)).key) : []
    return new Set([...slots, ...unique, ...(instance.queuedFor === undefined ? [] : [instance.queuedFor])])
  }

  #instance(): Instance | undefined {
    const isLimited = getOrRead(this.#driver, "limited", limitColumns, () => this.#readInstance() !== undefined)
    return isLimited ? this.#readInstance() : undefined
  }

  #readInstance(): Instance | undefined {
    const found = readInstanceRow(this.#driver)
    if (found === undefined || (found["limits"] === null && found["uniques"] === null)) return undefined
    const limits = optionalText(found, "limits")
    return {
      id: text(found, "id"),
      incarnation: text(found, "incarnation"),
      priority: integer(found, "priority"),
      isCancelling: found["phase"] === "cancelling",
      limits: limits === undefined ? [] : toUses(limits),
      hasUnique: toUniques(optionalText(found, "uniques")).length > 0,
      queuedFor: optionalText(found, "queued_for"),
    }
  }

  #add({ id, incarnation }: SlotMember, use: LimitUse): void {
    this.#driver
      .prepare(
        `INSERT INTO perdure_slot_request (key, state, id, incarnation, use) VALUES (?, 'asked', ?, ?, ?)
        ON CONFLICT (key) DO UPDATE SET id = excluded.id, incarnation = excluded.incarnation, use = excluded.use,
          state = CASE WHEN state = 'held' AND incarnation = excluded.incarnation THEN 'held' ELSE 'asked' END`,
      )
      .run(toText(use.key), toText(id), toText(incarnation), JSON.stringify(use))
  }

  #setState(key: string, state: RequestState): void {
    this.#driver.prepare(`UPDATE perdure_slot_request SET state = ? WHERE key = ?`).run(state, toText(key))
  }

  /** Checked first, because the driver creates a missing table when a statement names it. */
  #tableExists(): boolean {
    if (this.#driver.hasTable) return this.#driver.hasTable("perdure_slot_request")
    return this.#row(`SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = 'perdure_slot_request'`) !== undefined
  }

  #row(sql: string, ...values: SqlValue[]): SqlRow | undefined {
    return this.#driver.prepare(sql).get(...values)
  }

  #rows(sql: string): SqlRow[] {
    return this.#driver.prepare(sql).all()
  }
}

const noWork: SlotRequestWork = { asks: [], gives: [] }

interface Instance extends SlotMember {
  readonly priority: number
  readonly isCancelling: boolean
  readonly limits: readonly LimitUse[]
  readonly hasUnique: boolean
  readonly queuedFor: string | undefined
}

function askOf({ id, incarnation, priority, isCancelling }: Instance, use: LimitUse): SlotRequest["ask"] {
  return { id, incarnation, use, priority, ...(isCancelling ? { isCancelling } : undefined) }
}

function toUnique(row: SqlRow): UniqueUse {
  return { kind: text(row, "kind") as UniqueUse["kind"], key: text(row, "key") }
}
