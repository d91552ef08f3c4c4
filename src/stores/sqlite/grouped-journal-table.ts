import type { JournalRow } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement, SqlValue } from "../../ports/sql-driver.ts"
import { toText } from "../odd-text.ts"
import { inlineInsert, JournalTable } from "./journal-table.ts"

const columnCount = 7
/** So many rows go into one statement, which binds at most 100 values. */
const groupMax = 14

/**
 * The journal where many instances write together: one statement inserts several rows, as a call of the database costs nearly as much as
 * a row. A position that is taken fails the statement, and with it the transaction; whoever writes then writes turn by turn. It does not
 * come to that, as turns get here only where their journal goes on.
 */
export class GroupedJournalTable extends JournalTable {
  readonly #insertOne: SqlStatement
  readonly #insertGroup: SqlStatement
  /** The values of rows that are not inserted yet, one row after the other; undefined: rows do not wait. */
  #waiting: SqlValue[] | undefined

  constructor(driver: SqlDriver) {
    super(driver)
    this.#insertOne = driver.prepare(inlineInsert)
    this.#insertGroup = driver.prepare(`${inlineInsert}${", (?, ?, ?, ?, ?, ?, ?)".repeat(groupMax - 1)}`)
  }

  override together<T>(write: () => T): T {
    this.#waiting = []
    try {
      const result = write()
      this.#flush()
      return result
    } finally {
      this.#waiting = undefined
    }
  }

  override isRecorded(key: number, row: JournalRow): boolean {
    this.#flush()
    return super.isRecorded(key, row)
  }

  protected override appendInline(key: number, row: JournalRow, entries: string): boolean {
    const waiting = this.#waiting
    if (waiting === undefined) return super.appendInline(key, row, entries)
    waiting.push(key, row.position, row.count, row.run, row.at, toText(row.turn), entries)
    if (waiting.length === groupMax * columnCount) {
      this.#insertGroup.run(...waiting)
      waiting.length = 0
    }
    return true
  }

  /** Rows keep their order. */
  protected override appendLarge(key: number, row: JournalRow, entries: string): boolean {
    this.#flush()
    return super.appendLarge(key, row, entries)
  }

  #flush(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    for (let at = 0; at < waiting.length; at += columnCount) this.#insertOne.run(...waiting.slice(at, at + columnCount))
    waiting.length = 0
  }
}
