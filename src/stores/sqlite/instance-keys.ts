import type { SqlDriver, SqlStatement } from "../../ports/sql-driver.ts"
import { toText } from "./odd-text.ts"
import { integer, text } from "./sql-columns.ts"

interface KnownKey {
  readonly incarnation: string
  readonly key: number
}

/**
 * Finds the integer key of an instance's row. Keys are remembered: looking them up by text would cost a commit a quarter of its speed. A key stands for one incarnation
 * for ever, so a stale one can only point at nothing, and whoever writes with it makes sure that the row is there.
 */
export class InstanceKeys {
  readonly #known = new Map<string, KnownKey>()
  readonly #find: SqlStatement
  readonly #max: number

  constructor(driver: SqlDriver, max = 20_000) {
    this.#find = driver.prepare(`SELECT key, incarnation FROM perdure_instance WHERE id = ?`)
    this.#max = max
  }

  of(id: string, incarnation: string): number | undefined {
    const known = this.#known.get(id)
    if (known?.incarnation === incarnation) return known.key
    const row = this.#find.get(toText(id))
    if (row === undefined || text(row, "incarnation") !== incarnation) return undefined
    const key = integer(row, "key")
    this.remember(id, incarnation, key)
    return key
  }

  remember(id: string, incarnation: string, key: number): void {
    if (this.#known.size >= this.#max) {
      for (const oldest of this.#known.keys()) {
        this.#known.delete(oldest)
        break
      }
    }
    this.#known.set(id, { incarnation, key })
  }

  /** After a transaction that failed: the keys it gave out were never used, and will be given out again. */
  forget(): void {
    this.#known.clear()
  }
}
