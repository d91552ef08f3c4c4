import type { Offer } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { claimableAtOf, objectRows } from "./claimable-row.ts"
import { type DueSearch, isRowOffered } from "../tables/due-table.ts"
import { integer } from "../driver/sql-columns.ts"

/** Finds what is due in the database of an object, which has one instance at most: one query reads all rows. */
export class SmallDueTable implements DueSearch {
  readonly #all: SqlStatement

  constructor(driver: SqlDriver) {
    this.#all = driver.prepare(objectRows)
  }

  due(offers: readonly Offer[], _wanted: unknown, now: number): SqlRow[] {
    return this.#offered(offers).filter((row) => integer(row, "claimable_at") <= now)
  }

  dueAmong(ids: readonly string[], offers: readonly Offer[], now: number): SqlRow[] {
    const named = new Set<unknown>(ids.map(toText))
    return this.due(offers, undefined, now).filter((row) => named.has(row["id"]))
  }

  nextDueAt(offers: readonly Offer[]): number | undefined {
    const rows = this.#offered(offers)
    return rows.length === 0 ? undefined : Math.min(...rows.map((row) => integer(row, "claimable_at")))
  }

  /** One row needs no order. */
  inOrder(rows: readonly SqlRow[], _startsMin: number): readonly SqlRow[] {
    return rows
  }

  #offered(offers: readonly Offer[]): SqlRow[] {
    const rows = this.#all.all().map((row): SqlRow => ({ ...row, claimable_at: claimableAtOf(row) }))
    return rows.filter((row) => integer(row, "claimable_at") < Infinity && isRowOffered(row, offers))
  }
}
