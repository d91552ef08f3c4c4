import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import type { InboxTable } from "./inbox-table.ts"
import { InstanceAnnotations } from "./instance-annotations.ts"
import { fromTags } from "./instance-row.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, optionalInteger, optionalText, text } from "../driver/sql-columns.ts"

/** Removes ended instances with all that belongs to them, within a transaction of its caller. */
export class InstanceRemover {
  readonly #inbox: InboxTable
  readonly #find: SqlStatement
  readonly #notes: InstanceAnnotations
  readonly #byKey: readonly SqlStatement[]
  readonly #last: SqlStatement
  readonly #unkeep: SqlStatement
  readonly #keep: SqlStatement

  constructor(driver: SqlDriver, inbox: InboxTable) {
    this.#inbox = inbox
    this.#find = driver.prepare(`SELECT key, status, tags, created_at FROM perdure_instance WHERE id = ?`)
    this.#notes = new InstanceAnnotations(driver)
    this.#byKey = [
      driver.prepare(`DELETE FROM perdure_journal_chunk WHERE instance = ?`),
      driver.prepare(`DELETE FROM perdure_journal WHERE instance = ?`),
      driver.prepare(`DELETE FROM perdure_instance WHERE key = ?`),
    ]
    this.#last = driver.prepare(`SELECT max(seq) AS seq FROM perdure_journal`)
    this.#unkeep = driver.prepare(`DELETE FROM perdure_journal WHERE instance = 0`)
    this.#keep = driver.prepare(
      `INSERT INTO perdure_journal (seq, instance, position, count, run, at, turn, entries) VALUES (?, 0, 0, 0, 0, 0, '', '') ON CONFLICT DO NOTHING`,
    )
  }

  remove(ids: readonly string[]): readonly string[] {
    const last = this.#lastSeq()
    const removed = ids.filter((id) => this.#remove(id))
    // A row that belongs to nobody holds the place of the last: the order of appending goes on from there, and never gives a number twice.
    if (last !== undefined && this.#lastSeq() !== last) {
      this.#unkeep.run()
      this.#keep.run(last)
    }
    return removed
  }

  #lastSeq(): number | undefined {
    const row = this.#last.get()
    return row === undefined ? undefined : optionalInteger(row, "seq")
  }

  #remove(id: string): boolean {
    const row = this.#find.get(toText(id))
    if (row === undefined || !isTerminal(text(row, "status") as Status)) return false
    const key = integer(row, "key")
    this.#notes.untag(key, integer(row, "created_at"), fromTags(optionalText(row, "tags")))
    this.#inbox.discard(key)
    for (const statement of this.#byKey) statement.run(key)
    return true
  }
}
