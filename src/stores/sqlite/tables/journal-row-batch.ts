import type { JournalRow } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement, SqlValue } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"

const insert = `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries) VALUES (?, ?, ?, ?, ?, ?, ?)`
const columns = 7
/** So many rows go into one statement, which binds at most 100 values. */
const batchRowsMax = 14
const valuesMax = batchRowsMax * columns

/**
 * Rows of the journal that wait for company. One whose position is taken fails the statement, and with it the transaction; whoever writes then writes
 * turn by turn. It does not come to that, as turns get here only where their journal goes on.
 */
export class JournalRowBatch {
  readonly #insert: SqlStatement
  readonly #insertBatch: SqlStatement
  /** The values of one row after the other. It keeps its length: to let it grow for every group would cost more than to fill it. */
  readonly #values: SqlValue[] = Array.from({ length: valuesMax }, () => null)
  #count = 0

  constructor(driver: SqlDriver) {
    this.#insert = driver.prepare(insert)
    this.#insertBatch = driver.prepare(`${insert}${", (?, ?, ?, ?, ?, ?, ?)".repeat(batchRowsMax - 1)}`)
  }

  /** All of the row has to fit into it. */
  add(key: number, row: JournalRow): void {
    const values = this.#values
    let at = this.#count
    values[at++] = key
    values[at++] = row.position
    values[at++] = row.count
    values[at++] = row.run
    values[at++] = row.at
    values[at++] = toText(row.turn)
    values[at++] = toText(row.entries)
    this.#count = at
    if (at < valuesMax) return
    this.#insertBatch.run(...values)
    this.#count = 0
  }

  flush(): void {
    for (let at = 0; at < this.#count; at += columns) this.#insert.run(...this.#values.slice(at, at + columns))
    this.#count = 0
  }

  clear(): void {
    this.#count = 0
  }
}
