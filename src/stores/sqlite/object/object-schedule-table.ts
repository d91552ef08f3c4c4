import type { ObjectSchedule, ScheduleOrder } from "../../../ports/cloudflare/object-schedule.ts"
import type { InstanceRow } from "../../../ports/journal-store.ts"
import type { ScheduleRow } from "../../../ports/schedule-store.ts"
import type { SqlDriver, SqlRow, SqlValue } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { migrate, versionOf } from "../schema/migrate.ts"
import { objectMigrations } from "./object-schema.ts"
import { bytes, integer, optionalText } from "../driver/sql-columns.ts"
import { toScheduleRow } from "../../shared/schedule-rows.ts"
import { scheduleColumns } from "../sqlite-schedule-store.ts"
import { fromChunks, toChunks } from "../driver/text-chunks.ts"

/**
 * The tables that only the object of a schedule has, beside the schedule itself:
 *
 *   order        what other objects have to do for the schedule, and the id of the instance that the order creates. AUTOINCREMENT: no number of an
 *                order that is done is used again.
 *   order_part   the order as JSON, in parts that fit into a row each
 *   order_index  one row: the last revision that the index has acknowledged, and the removal that it must still get
 */
export const scheduleTableDefinitions: Readonly<Record<string, readonly string[]>> = {
  perdure_order: [
    `CREATE TABLE perdure_order (seq INTEGER PRIMARY KEY AUTOINCREMENT, creates TEXT) STRICT`,
    `CREATE TABLE IF NOT EXISTS perdure_order_part (seq INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part)) STRICT, WITHOUT ROWID`,
  ],
  perdure_order_index: [
    `CREATE TABLE perdure_order_index (
      id INTEGER PRIMARY KEY,
      revision INTEGER NOT NULL,
      incarnation TEXT,
      removed_id TEXT,
      removed_incarnation TEXT
    ) STRICT`,
    `INSERT INTO perdure_order_index (id, revision) VALUES (1, 0)`,
  ],
}

export class SqliteObjectSchedule implements ObjectSchedule {
  readonly #driver: SqlDriver
  #isThere: boolean | undefined

  constructor(driver: SqlDriver) {
    this.#driver = driver
  }

  isThere(): boolean {
    this.#isThere ??= versionOf(this.#driver).version > 0
    return this.#isThere
  }

  prepare(): void {
    migrate(this.#driver, objectMigrations)
    // Creates the table by which the object is known to belong to a schedule (object-kind.ts).
    this.indexed()
    this.#isThere = true
  }

  row(): ScheduleRow | undefined {
    const row = this.#row(`SELECT ${scheduleColumns} FROM perdure_schedule s LIMIT 1`)
    return row && toScheduleRow(row)
  }

  addOrders(orders: readonly ScheduleOrder[]): void {
    this.#driver.transaction(() => {
      for (const order of orders) {
        this.#driver.prepare(`INSERT INTO perdure_order (creates) VALUES (?)`).run(order.create?.instance ?? null)
        const insert = this.#driver.prepare(`INSERT INTO perdure_order_part (seq, part, bytes) SELECT max(seq), ?, ? FROM perdure_order`)
        for (const [part, chunk] of toChunks(toText(JSON.stringify(order))).entries()) insert.run(part, chunk)
      }
    })
  }

  orders(limit: number): readonly { readonly seq: number; readonly order: ScheduleOrder }[] {
    return this.#rows(`SELECT seq FROM perdure_order ORDER BY seq LIMIT ?`, limit).map((row) => {
      const seq = integer(row, "seq")
      return { seq, order: this.#order(seq) }
    })
  }

  ordered(id: string): InstanceRow | undefined {
    const row = this.#row(`SELECT seq FROM perdure_order WHERE creates = ?`, id)
    const turn = row && this.#order(integer(row, "seq")).create
    return turn && ({ ...turn.create, ...turn.state, updatedAt: turn.at } as InstanceRow)
  }

  #order(seq: number): ScheduleOrder {
    const parts = this.#rows(`SELECT bytes FROM perdure_order_part WHERE seq = ? ORDER BY part`, seq)
    return JSON.parse(fromChunks(parts.map((part) => bytes(part, "bytes")))) as ScheduleOrder
  }

  done(seq: number): void {
    this.#driver.transaction(() => {
      this.#driver.prepare(`DELETE FROM perdure_order WHERE seq = ?`).run(seq)
      this.#driver.prepare(`DELETE FROM perdure_order_part WHERE seq = ?`).run(seq)
    })
  }

  indexed(): ReturnType<ObjectSchedule["indexed"]> {
    const row = this.#row(`SELECT revision, incarnation, removed_id, removed_incarnation FROM perdure_order_index`)
    if (row === undefined) return { revision: 0 }
    const known = optionalText(row, "incarnation")
    const id = optionalText(row, "removed_id")
    const incarnation = optionalText(row, "removed_incarnation")
    return {
      revision: integer(row, "revision"),
      ...(known === undefined ? undefined : { incarnation: known }),
      ...(id === undefined || incarnation === undefined ? undefined : { removed: { id, incarnation } }),
    }
  }

  setIndexed({ revision, incarnation }: Pick<ScheduleRow, "revision" | "incarnation">): void {
    this.#driver.prepare(`UPDATE perdure_order_index SET revision = ?, incarnation = ?`).run(revision, toText(incarnation))
  }

  removed(schedule: { readonly id: string; readonly incarnation: string } | undefined): void {
    const values = schedule === undefined ? [null, null] : [toText(schedule.id), toText(schedule.incarnation)]
    this.#driver.prepare(`UPDATE perdure_order_index SET removed_id = ?, removed_incarnation = ?`).run(...values)
  }

  forget(): void {
    this.#isThere = false
  }

  #row(sql: string, ...values: SqlValue[]): SqlRow | undefined {
    return this.#driver.prepare(sql).get(...values)
  }

  #rows(sql: string, ...values: SqlValue[]): SqlRow[] {
    return this.#driver.prepare(sql).all(...values)
  }
}
