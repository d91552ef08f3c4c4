import type { JournalRow } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement, SqlValue } from "../../ports/sql-driver.ts"
import { toText } from "../odd-text.ts"
import { inlineInsert, JournalTable } from "./journal-table.ts"

const columnCount = 7
/** So many rows go into one statement, which binds at most 100 values. */
const groupMax = 14
const valuesMax = groupMax * columnCount

/**
 * The journal where many instances write together: one statement inserts several rows, as a call of the database costs nearly as much as
 * a row. A position that is taken fails the statement, and with it the transaction; whoever writes then writes turn by turn. It does not
 * come to that, as turns get here only where their journal goes on.
 */
export class GroupedJournalTable extends JournalTable {
  readonly #insertOne: SqlStatement
  readonly #insertGroup: SqlStatement
  /** The values of rows that are not inserted yet, one row after the other. It keeps its length: to let it grow with every group would cost more than to fill it. */
  readonly #waiting: SqlValue[] = Array.from({ length: valuesMax }, () => null)
  #count = 0
  #isTogether = false

  constructor(driver: SqlDriver) {
    super(driver)
    this.#insertOne = driver.prepare(inlineInsert)
    this.#insertGroup = driver.prepare(`${inlineInsert}${", (?, ?, ?, ?, ?, ?, ?)".repeat(groupMax - 1)}`)
  }

  override together<T>(write: () => T): T {
    this.#isTogether = true
    try {
      const result = write()
      this.#flush()
      return result
    } finally {
      this.#isTogether = false
      this.#count = 0
    }
  }

  override isRecorded(key: number, row: JournalRow): boolean {
    this.#flush()
    return super.isRecorded(key, row)
  }

  protected override appendInline(key: number, row: JournalRow, entries: string): boolean {
    if (!this.#isTogether) return super.appendInline(key, row, entries)
    const waiting = this.#waiting
    let at = this.#count
    waiting[at++] = key
    waiting[at++] = row.position
    waiting[at++] = row.count
    waiting[at++] = row.run
    waiting[at++] = row.at
    waiting[at++] = toText(row.turn)
    waiting[at++] = entries
    this.#count = at
    if (at === valuesMax) {
      this.#insertGroup.run(...waiting)
      this.#count = 0
    }
    return true
  }

  /** Rows keep their order. */
  protected override appendLarge(key: number, row: JournalRow, entries: string): boolean {
    this.#flush()
    return super.appendLarge(key, row, entries)
  }

  #flush(): void {
    for (let at = 0; at < this.#count; at += columnCount) this.#insertOne.run(...this.#waiting.slice(at, at + columnCount))
    this.#count = 0
  }
}
