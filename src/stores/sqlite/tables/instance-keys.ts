import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "../driver/sql-columns.ts"

export interface KnownInstance {
  readonly incarnation: string
  readonly key: number
  /** The next position of the journal, and the id of the journal's last turn. */
  next: number
  lastTurn: string
  /** Turns of an instance with limits or unique keys must pass flow control. */
  readonly hasLimits: boolean
  readonly hasUnique: boolean
}

/**
 * Finds the integer key of an instance's row and the end of its journal, within a transaction, and caches both: to look them up by text
 * for each turn would make commits a third slower. A key belongs to one incarnation for ever, so a cached key can at worst belong to a removed
 * instance. The cache is cleared when this connection removes an instance, and when another connection has written to the file. So
 * the cached end of a journal is true: only turns written over this connection have moved it.
 */
export class InstanceKeys {
  readonly #select: SqlStatement
  readonly #max: number
  readonly #driver: SqlDriver
  #lastVersion: unknown
  /** When `#recent` is full, it becomes `#older`, and the previous `#older` is dropped: cheaper than tracking the oldest entry. */
  #recent = new Map<string, KnownInstance>()
  #older = new Map<string, KnownInstance>()

  constructor(driver: SqlDriver, max = 20_000) {
    this.#select = driver.prepare(
      `SELECT i.key, i.incarnation, j.position + j.count AS next, j.turn AS last_turn, i.limits IS NOT NULL AS has_limits, i.uniques IS NOT NULL AS has_unique
      FROM perdure_instance i CROSS JOIN perdure_journal j ON j.instance = i.key WHERE i.id = ? ORDER BY j.position DESC LIMIT 1`,
    )
    this.#max = max
    this.#driver = driver
  }

  /** Call this when a write transaction has begun: other connections cannot write until it ends. */
  begin(): void {
    const version = this.#driver.version()
    if (version !== this.#lastVersion) this.clear()
    this.#lastVersion = version
  }

  find(id: string, incarnation: string): KnownInstance | undefined {
    const recent = this.#recent.get(id)
    if (recent?.incarnation === incarnation) return recent
    const older = this.#older.get(id)
    const known = older?.incarnation === incarnation ? older : this.#read(id, incarnation)
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

  /** Call this after a transaction that removed instances or failed. SQLite gives the keys of a failed transaction to other instances. */
  clear(): void {
    this.#recent.clear()
    this.#older.clear()
  }

  #read(id: string, incarnation: string): KnownInstance | undefined {
    const row = this.#select.get(toText(id))
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
