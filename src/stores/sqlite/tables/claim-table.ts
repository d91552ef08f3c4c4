import type { Offer } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import type { DueSearch, Wanted } from "./due-table.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { text } from "../driver/sql-columns.ts"

/** An instance that was running must continue in another worker, so it is due at once. */
const clearOwner = `UPDATE perdure_instance SET owner = NULL, crashed = ?,
  due_at = CASE WHEN status = 'running' THEN min(ifnull(due_at, ?), ?) ELSE due_at END`

/** The statements about owners of instances and leases of workers. */
export class ClaimTable {
  readonly #due: DueSearch
  readonly #claim: SqlStatement
  readonly #owned: SqlStatement
  readonly #unread: SqlStatement
  readonly #nextOwner: SqlStatement
  readonly #liveLease: SqlStatement
  readonly #renew: SqlStatement
  readonly #endLease: SqlStatement
  readonly #endLeases: SqlStatement
  readonly #abandon: SqlStatement
  readonly #release: SqlStatement

  constructor(driver: SqlDriver, due: DueSearch) {
    this.#due = due
    this.#claim = driver.prepare(`UPDATE perdure_instance SET owner = ?, crashed = 0 WHERE key = ?`)
    this.#owned = driver.prepare(`SELECT id FROM perdure_instance WHERE owner = ?`)
    this.#unread = driver.prepare(`SELECT id FROM perdure_instance WHERE owner = ? AND mail_at IS NOT NULL LIMIT ?`)
    this.#nextOwner = driver.prepare(`SELECT owner FROM perdure_instance WHERE owner > ? ORDER BY owner LIMIT 1`)
    this.#liveLease = driver.prepare(`SELECT 1 AS found FROM perdure_lease WHERE worker = ? AND until > ?`)
    this.#renew = driver.prepare(`INSERT INTO perdure_lease (worker, until) VALUES (?, ?) ON CONFLICT (worker) DO UPDATE SET until = excluded.until`)
    this.#endLease = driver.prepare(`DELETE FROM perdure_lease WHERE worker = ?`)
    this.#endLeases = driver.prepare(`DELETE FROM perdure_lease`)
    this.#abandon = driver.prepare(`${clearOwner} WHERE owner = ?`)
    this.#release = driver.prepare(`${clearOwner} WHERE id = ? AND owner = ?`)
  }

  /** Rows that may be claimed now, in claim order. */
  due(offers: readonly Offer[], ids: readonly string[] | undefined, wanted: Wanted, now: number): readonly SqlRow[] {
    const found = ids === undefined ? this.#due.due(offers, wanted, now) : this.#due.dueAmong(ids, offers, now)
    return this.#due.inOrder(found, wanted.startsMin).slice(0, wanted.limit)
  }

  claim(worker: string, key: number): void {
    this.#claim.run(toText(worker), key)
  }

  nextDueAt(offers: readonly Offer[]): number | undefined {
    return this.#due.nextDueAt(offers)
  }

  owned(worker: string): string[] {
    return this.#owned.all(toText(worker)).map((row) => text(row, "id"))
  }

  unread(worker: string, limit: number): string[] {
    return this.#unread.all(toText(worker), limit).map((row) => text(row, "id"))
  }

  /** Owners without a valid lease: one lookup for each owner, not for each instance. The claiming worker is alive, even if its own lease has expired. */
  deadOwners(claimer: string, now: number): string[] {
    const dead: string[] = []
    for (let row = this.#nextOwner.get(""); row !== undefined;) {
      const owner = text(row, "owner")
      if (owner !== claimer && this.#liveLease.get(toText(owner), now) === undefined) dead.push(owner)
      row = this.#nextOwner.get(toText(owner))
    }
    return dead
  }

  renew(worker: string, until: number): void {
    this.#renew.run(toText(worker), until)
  }

  /** Ends the lease of a dead worker. Its instances have no owner from then on, and count as crashed. */
  abandon(worker: string, now: number): void {
    this.#endLease.run(toText(worker))
    this.#abandon.run(1, now, now, toText(worker))
  }

  endLeases(): void {
    this.#endLeases.run()
  }

  release(worker: string, id: string, now: number): void {
    this.#release.run(0, now, now, toText(id), toText(worker))
  }
}
