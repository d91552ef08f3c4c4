import type { Offer } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../ports/sql-driver.ts"
import { toText } from "../odd-text.ts"
import { dueColumns, type DueSearch, isRowOffered } from "./due-table.ts"
import { integer } from "./sql-columns.ts"

/** For a handful of instances: one look at all of them, however many workflows, queues and priorities there may be. */
export class SmallDueTable implements DueSearch {
  readonly #claimable: SqlStatement
  readonly inOrder: DueSearch["inOrder"]

  /** `inOrder`: where there may be more than one. */
  constructor(driver: SqlDriver, inOrder: DueSearch["inOrder"] = (rows) => rows) {
    this.inOrder = inOrder
    this.#claimable = driver.prepare(`SELECT ${dueColumns} FROM perdure_instance i WHERE i.claimable_at IS NOT NULL`)
  }

  of(offers: readonly Offer[], _limit: number, now: number): SqlRow[] {
    return this.#offered(offers).filter((row) => integer(row, "claimable_at") <= now)
  }

  among(ids: readonly string[], offers: readonly Offer[], now: number): SqlRow[] {
    const named = new Set<unknown>(ids.map(toText))
    return this.of(offers, Infinity, now).filter((row) => named.has(row["id"]))
  }

  nextAt(offers: readonly Offer[]): number | undefined {
    const rows = this.#offered(offers)
    return rows.length === 0 ? undefined : Math.min(...rows.map((row) => integer(row, "claimable_at")))
  }

  #offered(offers: readonly Offer[]): SqlRow[] {
    return this.#claimable.all().filter((row) => isRowOffered(row, offers))
  }
}
