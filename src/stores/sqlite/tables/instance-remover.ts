import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import type { InboxTable } from "./inbox-table.ts"
import { InstanceAnnotations } from "./instance-annotations.ts"
import { fromTags } from "./instance-row.ts"
import type { TurnTasks } from "./turn-tasks.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, optionalInteger, optionalText, text } from "../driver/sql-columns.ts"

/** Removes ended instances with all their rows, within a transaction of the caller. */
export class InstanceRemover {
  readonly #inbox: InboxTable
  readonly #tasks: Pick<TurnTasks, "end"> | undefined
  readonly #find: SqlStatement
  readonly #annotations: InstanceAnnotations
  readonly #byKey: readonly SqlStatement[]
  readonly #selectLastSeq: SqlStatement
  readonly #removePlaceholder: SqlStatement
  readonly #addPlaceholder: SqlStatement

  constructor(driver: SqlDriver, inbox: InboxTable, tasks: Pick<TurnTasks, "end"> | undefined) {
    this.#inbox = inbox
    this.#tasks = tasks
    this.#find = driver.prepare(`SELECT key, incarnation, status, tags, created_at FROM perdure_instance WHERE id = ?`)
    this.#annotations = new InstanceAnnotations(driver)
    this.#byKey = [
      driver.prepare(`DELETE FROM perdure_journal_chunk WHERE instance = ?`),
      driver.prepare(`DELETE FROM perdure_journal WHERE instance = ?`),
      driver.prepare(`DELETE FROM perdure_instance WHERE key = ?`),
    ]
    this.#selectLastSeq = driver.prepare(`SELECT max(seq) AS seq FROM perdure_journal`)
    this.#removePlaceholder = driver.prepare(`DELETE FROM perdure_journal WHERE instance = 0`)
    this.#addPlaceholder = driver.prepare(
      `INSERT INTO perdure_journal (seq, instance, position, count, run, at, turn, entries) VALUES (?, 0, 0, 0, 0, 0, '', '') ON CONFLICT DO NOTHING`,
    )
  }

  remove(ids: readonly string[]): readonly string[] {
    const last = this.#lastSeq()
    const removed = ids.filter((id) => this.#remove(id))
    // If the last journal row was removed, a placeholder row of no instance keeps its `seq`, so that no `seq` is given twice.
    if (last !== undefined && this.#lastSeq() !== last) {
      this.#removePlaceholder.run()
      this.#addPlaceholder.run(last)
    }
    return removed
  }

  #lastSeq(): number | undefined {
    const row = this.#selectLastSeq.get()
    return row === undefined ? undefined : optionalInteger(row, "seq")
  }

  #remove(id: string): boolean {
    const row = this.#find.get(toText(id))
    if (row === undefined || !isTerminal(text(row, "status") as Status)) return false
    const key = integer(row, "key")
    this.#annotations.untag(key, integer(row, "created_at"), fromTags(optionalText(row, "tags")))
    this.#inbox.discard(key)
    this.#tasks?.end(key, "all", { instance: id, incarnation: text(row, "incarnation"), at: integer(row, "created_at") })
    for (const statement of this.#byKey) statement.run(key)
    return true
  }
}
