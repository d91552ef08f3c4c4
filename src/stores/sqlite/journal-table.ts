import type { JournalRow } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../ports/sql-driver.ts"
import { fromText, toText } from "./odd-text.ts"
import { bytes, integer, optionalInteger, text } from "./sql-columns.ts"
import { fromChunks, inlineTextMax, toChunks } from "./text-chunks.ts"

/** In the chunk table, the row's own entries are blob 0 if they are too long for it, and its blobs follow from 1. */
const entriesBlob = 0

/** Appends and reads turns. One prepared insert per turn is what the speed of a commit rests on. Writers are in a transaction. */
export class JournalTable {
  readonly #insert: SqlStatement
  readonly #insertLarge: SqlStatement
  readonly #insertChunk: SqlStatement
  readonly #recorded: SqlStatement
  readonly #read: SqlStatement
  readonly #readChunks: SqlStatement

  constructor(driver: SqlDriver) {
    this.#insert = driver.prepare(
      `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    this.#insertLarge = driver.prepare(
      `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    this.#insertChunk = driver.prepare(`INSERT INTO perdure_journal_chunk (instance, position, blob, part, bytes) VALUES (?, ?, ?, ?, ?)`)
    this.#recorded = driver.prepare(`SELECT turn FROM perdure_journal WHERE instance = ? AND position = ?`)
    this.#read = driver.prepare(
      `SELECT j.instance, j.turn, j.position, j.count, j.run, j.at, j.entries, j.chunks
      FROM perdure_instance i CROSS JOIN perdure_journal j ON j.instance = i.key
      WHERE i.id = ? AND j.position >= ifnull((SELECT max(position) FROM perdure_journal WHERE instance = i.key AND position <= ?), 0)
      ORDER BY j.position`,
    )
    this.#readChunks = driver.prepare(`SELECT blob, bytes FROM perdure_journal_chunk WHERE instance = ? AND position = ? ORDER BY blob, part`)
  }

  /** False if another turn has the position. The key is of an instance that is there. */
  append(key: number, row: JournalRow): boolean {
    const entries = toText(row.entries)
    const { position, blobs } = row
    if (entries.length <= inlineTextMax && (blobs === undefined || blobs.length === 0)) {
      return this.#insert.run(key, position, row.count, row.run, row.at, toText(row.turn), entries).changes === 1
    }
    const large = new Map((blobs ?? []).map((blob, index) => [index + 1, toChunks(toText(blob))]))
    if (entries.length > inlineTextMax) large.set(entriesBlob, toChunks(entries))
    const count = [...large.values()].reduce((sum, chunks) => sum + chunks.length, 0)
    const inline = large.has(entriesBlob) ? "" : entries
    if (this.#insertLarge.run(key, position, row.count, row.run, row.at, toText(row.turn), inline, count).changes === 0) return false
    for (const [blob, chunks] of large) for (const [part, chunk] of chunks.entries()) this.#insertChunk.run(key, position, blob, part, chunk)
    return true
  }

  /** Whether this very turn has its position: it was sent again. */
  isRecorded(key: number, row: JournalRow): boolean {
    const recorded = this.#recorded.get(key, row.position)
    return recorded !== undefined && text(recorded, "turn") === row.turn
  }

  read(id: string, from: number): JournalRow[] {
    for (let attempt = 1; ; attempt++) {
      const stored = this.#read.all(toText(id), from)
      const rows: JournalRow[] = []
      for (const row of stored) {
        const whole = this.#whole(row)
        if (whole === undefined) break
        rows.push(whole)
      }
      if (rows.length === stored.length) {
        const [first] = rows
        return first !== undefined && first.position + first.count - 1 < from ? rows.slice(1) : rows
      }
      // Chunks are missing because another process removed the instance between two reads. Once is that; twice is damage.
      if (attempt === 3) throw new Error(`parts of the journal of instance "${id}" are missing`)
    }
  }

  #whole(row: SqlRow): JournalRow | undefined {
    const position = integer(row, "position")
    const journalRow = { turn: text(row, "turn"), position, count: integer(row, "count"), run: integer(row, "run"), at: integer(row, "at") }
    const count = optionalInteger(row, "chunks")
    if (count === undefined) return { ...journalRow, entries: text(row, "entries") }
    const chunks = this.#readChunks.all(integer(row, "instance"), position)
    if (chunks.length !== count) return undefined
    const large: Uint8Array[][] = []
    for (const chunk of chunks) (large[integer(chunk, "blob")] ??= []).push(bytes(chunk, "bytes"))
    const long = large[entriesBlob]
    const entries = long === undefined ? text(row, "entries") : fromText(fromChunks(long))
    const blobs = large.slice(1).map((parts) => fromText(fromChunks(parts)))
    return blobs.length === 0 ? { ...journalRow, entries } : { ...journalRow, entries, blobs }
  }
}
