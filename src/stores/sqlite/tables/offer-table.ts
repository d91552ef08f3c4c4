import type { Offer } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { offersFrom, offersText } from "../../shared/worker-offers.ts"
import { text } from "../driver/sql-columns.ts"

/** What workers execute, as they announced it. An offer counts only while its worker has a lease. */
export class OfferTable {
  readonly #get: SqlStatement
  readonly #all: SqlStatement
  readonly #put: SqlStatement
  readonly #remove: SqlStatement
  readonly #hasLease: SqlStatement

  constructor(driver: SqlDriver) {
    this.#get = driver.prepare(`SELECT offers FROM perdure_offer WHERE worker = ?`)
    this.#all = driver.prepare(`SELECT worker, offers FROM perdure_offer WHERE worker > ''`)
    this.#put = driver.prepare(`INSERT INTO perdure_offer (worker, offers) VALUES (?, ?) ON CONFLICT (worker) DO UPDATE SET offers = excluded.offers`)
    this.#remove = driver.prepare(`DELETE FROM perdure_offer WHERE worker = ?`)
    this.#hasLease = driver.prepare(`SELECT 1 AS found FROM perdure_lease WHERE worker = ?`)
  }

  /** Writes only a changed offer, because a worker repeats its offers with each renewal. A write also removes the offers of workers without a lease. */
  put(worker: string, offers: readonly Offer[]): void {
    const name = toText(worker)
    const stored = offersText(offers)
    if (this.#get.get(name)?.["offers"] === stored) return
    for (const row of this.#all.all()) {
      const withoutLease = toText(text(row, "worker"))
      if (this.#hasLease.get(withoutLease) === undefined) this.#remove.run(withoutLease)
    }
    this.#put.run(name, stored)
  }

  all(): ReadonlyMap<string, readonly Offer[]> {
    return new Map(this.#all.all().map((row) => [text(row, "worker"), offersFrom(String(row["offers"])) ?? []]))
  }
}
