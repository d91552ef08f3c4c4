import type { JournalRow } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement, SqlValue } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"

const insert = `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries) VALUES (?, ?, ?, ?, ?, ?, ?)`
const columns = 7
/** How many rows one statement inserts. It binds at most 100 values. */
const batchRowsMax = 14
const valuesMax = batchRowsMax * columns

/**
 * Journal rows that wait until one statement inserts several. A row whose position is taken would fail the whole transaction. This does not happen:
 * TurnTable passes a row on only if the row's position is the next of its journal.
 */
export class JournalRowBatch {
  readonly #insert: SqlStatement
  readonly #insertBatch: SqlStatement
  /** The values of the rows, one row after another. The array keeps its length, because growing it for each batch costs more than filling it. */
  readonly #values: SqlValue[] = Array.from({ length: valuesMax }, () => null)
  #count = 0

  constructor(driver: SqlDriver) {
    this.#insert = driver.prepare(insert)
    this.#insertBatch = driver.prepare(`${insert}${", (?, ?, ?, ?, ?, ?, ?)".repeat(batchRowsMax - 1)}`)
  }

  /** The row must be inline: no part of it is in the chunk table. */
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
