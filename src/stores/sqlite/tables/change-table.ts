import type { ChangePage, ChangeRow } from "../../../ports/change-stream.ts"
import type { SqlDriver, SqlStatement, SqlValue } from "../../../ports/sql-driver.ts"
import { changePlace, checkPlace, firstPlace, fromChangeCursor, toChangeCursor, type ChangePlace } from "../../shared/change-cursor.ts"
import { type JournalTable, rowColumns } from "./journal-table.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "../driver/sql-columns.ts"

/** A page is read in slices, and ends with the row that makes the page this long, so memory is bounded. */
const textMax = 1024 * 1024
const sliceRows = 16

const columns = `${rowColumns}, j.seq, i.id, i.incarnation, i.workflow, i.version, i.queue`

/**
 * Reads the journals of all instances in the order of `seq`. One connection writes at a time, so this is the order of commits: no row appears
 * before a row that could be read already. No number is given twice: when the last row is removed, a placeholder keeps its number
 * (instance-remover.ts).
 */
export class ChangeTable {
  readonly #journal: JournalTable
  readonly #latest: SqlStatement
  readonly #turnAt: SqlStatement
  readonly #ofAll: (...values: SqlValue[]) => SqlValue[][]
  readonly #ofOne: (...values: SqlValue[]) => SqlValue[][]

  constructor(driver: SqlDriver, journal: JournalTable) {
    this.#journal = journal
    this.#latest = driver.prepare(`SELECT seq, turn FROM perdure_journal WHERE seq = (SELECT max(seq) FROM perdure_journal)`)
    this.#turnAt = driver.prepare(`SELECT turn FROM perdure_journal WHERE seq = ?`)
    this.#ofAll = driver.prepareReader(
      `SELECT ${columns} FROM perdure_journal j CROSS JOIN perdure_instance i ON i.key = j.instance WHERE j.seq > ? ORDER BY j.seq LIMIT ?`,
    )
    // Positions of an instance grow with `seq`. The subquery searches from the last position back, because readers are near the end.
    this.#ofOne = driver.prepareReader(
      `SELECT ${columns} FROM perdure_instance i CROSS JOIN perdure_journal j ON j.instance = i.key
      WHERE i.id = ? AND j.position > ifnull(
        (SELECT k.position FROM perdure_journal k WHERE k.instance = i.key AND +k.seq <= ? ORDER BY k.position DESC LIMIT 1), 0)
      ORDER BY j.position LIMIT ?`,
    )
  }

  latest(): ChangePlace {
    const row = this.#latest.get()
    return row === undefined ? firstPlace : changePlace(integer(row, "seq"), fromText(text(row, "turn")))
  }

  read(after: string | undefined, limit: number, instance: string | undefined): ChangePage {
    // Read first: a later commit may be in the page, but no commit before this query can be missed.
    const latest = this.latest()
    const place = after === undefined ? firstPlace : fromChangeCursor(after)
    const there = this.#turnAt.get(place.seq)
    const turn = there && fromText(text(there, "turn"))
    // The placeholder of a removed row has no turn id.
    checkPlace(place, latest, turn === "" ? undefined : turn)
    const rows: ChangeRow[] = []
    let { seq } = place
    for (let length = 0; rows.length < limit && length < textMax;) {
      const wanted = Math.min(sliceRows, limit - rows.length)
      const slice = this.#slice(seq, wanted, instance)
      for (const row of slice.rows) {
        rows.push(row)
        length += lengthOf(row)
        seq = fromChangeCursor(row.cursor).seq
        if (length >= textMax) break
      }
      if (slice.isLast && length < textMax) return { rows, cursor: seq > latest.seq ? (rows.at(-1)?.cursor ?? "") : toChangeCursor(latest) }
    }
    return { rows, cursor: rows.at(-1)?.cursor ?? toChangeCursor(place) }
  }

  #slice(seq: number, limit: number, instance: string | undefined): { readonly rows: readonly ChangeRow[]; readonly isLast: boolean } {
    for (let attempt = 1; ; attempt++) {
      const stored = instance === undefined ? this.#ofAll(seq, limit) : this.#ofOne(toText(instance), seq, limit)
      const rows = stored.map((row) => this.#whole(row)).filter((row) => row !== undefined)
      if (rows.length === stored.length) return { rows, isLast: stored.length < limit }
      // Another process may have removed the instance between two reads, and chunks are missing then. If chunks are missing again and again, the file is
      // damaged.
      if (attempt === 3) throw new Error("parts of journal rows are missing")
    }
  }

  #whole(stored: SqlValue[]): ChangeRow | undefined {
    const row = this.#journal.whole(stored)
    if (row === undefined) return undefined
    const [seq, id, incarnation, workflow, version, queue] = stored.slice(-6) as [number, string, string, string, string, string]
    return {
      ...row,
      instance: fromText(id),
      incarnation: fromText(incarnation),
      workflow: fromText(workflow),
      version: fromText(version),
      ...(queue === "" ? undefined : { queue: fromText(queue) }),
      cursor: toChangeCursor(changePlace(seq, row.turn)),
    }
  }
}

function lengthOf({ entries, blobs = [] }: ChangeRow): number {
  return blobs.reduce((sum, blob) => sum + blob.length, entries.length)
}
