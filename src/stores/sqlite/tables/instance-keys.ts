import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "../driver/sql-columns.ts"

export interface KnownInstance {
  readonly incarnation: string
  readonly key: number
  /** Where its journal goes on, and the turn that the journal ends with. */
  next: number
  lastTurn: string
  /** Flow control has a say in what becomes of it. */
  readonly hasLimits: boolean
  readonly hasUnique: boolean
}

/**
 * Finds the integer key of an instance's row and the end of its journal, within a transaction. Both are remembered: looking them
 * up by text, or making sure with each row that the instance is still there, would cost a commit a third of its speed. A key
 * stands for one incarnation for ever, and can only come to point at nothing: where this connection removed the instance, or
 * another wrote to the file at all, all are forgotten. So nobody moves the end of a journal but whoever writes turns here.
 */
export class InstanceKeys {
  readonly #find: SqlStatement
  readonly #max: number
  readonly #driver: SqlDriver
  #lastVersion: unknown
  /** When the recent ones are many, they become the older ones, and those are forgotten: cheaper than to know the oldest. */
  #recent = new Map<string, KnownInstance>()
  #older = new Map<string, KnownInstance>()

  constructor(driver: SqlDriver, max = 20_000) {
    this.#find = driver.prepare(
      `SELECT i.key, i.incarnation, j.position + j.count AS next, j.turn AS last_turn, i.limits IS NOT NULL AS has_limits, i.uniques IS NOT NULL AS has_unique
      FROM perdure_instance i CROSS JOIN perdure_journal j ON j.instance = i.key WHERE i.id = ? ORDER BY j.position DESC LIMIT 1`,
    )
    this.#max = max
    this.#driver = driver
  }

  /** A transaction has begun: what others have written until now is seen, and nothing can be added to it. */
  begin(): void {
    const version = this.#driver.version()
    if (version !== this.#lastVersion) this.forget()
    this.#lastVersion = version
  }

  of(id: string, incarnation: string): KnownInstance | undefined {
    const recent = this.#recent.get(id)
    if (recent?.incarnation === incarnation) return recent
    const older = this.#older.get(id)
    const known = older?.incarnation === incarnation ? older : this.#look(id, incarnation)
    if (known !== undefined) this.remember(id, known)
    return known
  }

  remember(id: string, known: KnownInstance): void {
    if (this.#recent.size >= this.#max / 2) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(id, known)
  }

  /** After a transaction that removed instances; or that failed: the keys it gave out were never used, and will be given out again. */
  forget(): void {
    this.#recent.clear()
    this.#older.clear()
  }

  #look(id: string, incarnation: string): KnownInstance | undefined {
    const row = this.#find.get(toText(id))
    if (row === undefined || text(row, "incarnation") !== incarnation) return undefined
    return {
      incarnation,
      key: integer(row, "key"),
      next: integer(row, "next"),
      lastTurn: fromText(text(row, "last_turn")),
      hasLimits: row["has_limits"] === 1,
      hasUnique: row["has_unique"] === 1,
    }
  }
}
