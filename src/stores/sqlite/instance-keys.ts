import type { SqlDriver, SqlStatement } from "../../ports/sql-driver.ts"
import { toText } from "./odd-text.ts"
import { integer, text } from "./sql-columns.ts"

interface KnownKey {
  readonly incarnation: string
  readonly key: number
}

/**
 * Finds the integer key of an instance's row, within a transaction. Keys are remembered: looking them up by text, or making sure
 * with each row that the instance is still there, would cost a commit a third of its speed. A key stands for one incarnation for
 * ever, and can only come to point at nothing: where this connection removed the instance, or another wrote to the file at all,
 * all are forgotten.
 */
export class InstanceKeys {
  readonly #find: SqlStatement
  readonly #max: number
  readonly #version: SqlStatement
  #lastVersion: unknown
  /** When the recent ones are many, they become the older ones, and those are forgotten: cheaper than to know the oldest. */
  #recent = new Map<string, KnownKey>()
  #older = new Map<string, KnownKey>()

  constructor(driver: SqlDriver, max = 20_000) {
    this.#find = driver.prepare(`SELECT key, incarnation FROM perdure_instance WHERE id = ?`)
    this.#max = max
    this.#version = driver.prepare("PRAGMA data_version")
  }

  /** A transaction has begun: what others have written until now is seen, and nothing can be added to it. */
  begin(): void {
    const version = this.#version.get()?.["data_version"]
    if (version !== this.#lastVersion) this.forget()
    this.#lastVersion = version
  }

  of(id: string, incarnation: string): number | undefined {
    const recent = this.#recent.get(id)
    if (recent?.incarnation === incarnation) return recent.key
    const older = this.#older.get(id)
    const key = older?.incarnation === incarnation ? older.key : this.#look(id, incarnation)
    if (key !== undefined) this.remember(id, incarnation, key)
    return key
  }

  remember(id: string, incarnation: string, key: number): void {
    if (this.#recent.size >= this.#max / 2) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(id, { incarnation, key })
  }

  /** After a transaction that removed instances; or that failed: the keys it gave out were never used, and will be given out again. */
  forget(): void {
    this.#recent.clear()
    this.#older.clear()
  }

  #look(id: string, incarnation: string): number | undefined {
    const row = this.#find.get(toText(id))
    return row === undefined || text(row, "incarnation") !== incarnation ? undefined : integer(row, "key")
  }
}
