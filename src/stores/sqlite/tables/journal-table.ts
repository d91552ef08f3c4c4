import type { JournalRow } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement, SqlValue } from "../../../ports/sql-driver.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import { bytes, integer, text } from "../driver/sql-columns.ts"
import { fromChunks, inlineTextMax, toChunks } from "../driver/text-chunks.ts"

/** In the chunk table, blob 0 is the row's entries if they are too long for the row; the row's blobs have the numbers from 1. */
const entriesBlob = 0

/** The columns that `whole` needs, in its order. */
export const rowColumns = "j.turn, j.position, j.count, j.run, j.at, j.entries, j.chunks, j.instance"

/** Whether the journal row needs no chunks. */
export function isInline({ entries, blobs }: JournalRow): boolean {
  return entries.length <= inlineTextMax && (blobs === undefined || blobs.length === 0)
}

/** Appends and reads journal rows. Callers that write are in a transaction. */
export class JournalTable {
  readonly #insert: SqlStatement
  readonly #insertChunk: SqlStatement
  readonly #recorded: SqlStatement
  readonly #read: (id: string, from: number) => SqlValue[][]
  readonly #readChunks: SqlStatement

  constructor(driver: SqlDriver) {
    this.#insert = driver.prepare(
      `INSERT INTO perdure_journal (instance, position, count, run, at, turn, entries, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    this.#insertChunk = driver.prepare(`INSERT INTO perdure_journal_chunk (instance, position, blob, part, bytes) VALUES (?, ?, ?, ?, ?)`)
    this.#recorded = driver.prepare(`SELECT turn FROM perdure_journal WHERE instance = ? AND position = ?`)
    this.#read = driver.prepareReader(
      `SELECT ${rowColumns}
      FROM perdure_instance i CROSS JOIN perdure_journal j ON j.instance = i.key
      WHERE i.id = ? AND j.position >= ifnull((SELECT max(position) FROM perdure_journal WHERE instance = i.key AND position <= ?), 0)
      ORDER BY j.position`,
    )
    this.#readChunks = driver.prepare(`SELECT blob, bytes FROM perdure_journal_chunk WHERE instance = ? AND position = ? ORDER BY blob, part`)
  }

  /** False if another turn has the position. `key` belongs to an existing instance. */
  append(key: number, row: JournalRow): boolean {
    const entries = toText(row.entries)
    if (isInline(row)) return this.#write(key, row, entries, null)
    const large = new Map((row.blobs ?? []).map((blob, index) => [index + 1, toChunks(toText(blob))]))
    if (entries.length > inlineTextMax) large.set(entriesBlob, toChunks(entries))
    const count = [...large.values()].reduce((sum, chunks) => sum + chunks.length, 0)
    if (!this.#write(key, row, large.has(entriesBlob) ? "" : entries, count)) return false
    for (const [blob, chunks] of large) for (const [part, chunk] of chunks.entries()) this.#insertChunk.run(key, row.position, blob, part, chunk)
    return true
  }

  #write(key: number, { position, count, run, at, turn }: JournalRow, entries: string, chunks: number | null): boolean {
    return this.#insert.write(key, position, count, run, at, toText(turn), entries, chunks)
  }

  /** Whether the journal has this turn at its position: then the caller has sent the turn twice. */
  isRecorded(key: number, row: JournalRow): boolean {
    const recorded = this.#recorded.get(key, row.position)
    return recorded !== undefined && text(recorded, "turn") === row.turn
  }

  read(id: string, from: number): JournalRow[] {
    for (let attempt = 1; ; attempt++) {
      const stored = this.#read(toText(id), from)
      const rows: JournalRow[] = []
      for (const row of stored) {
        const whole = this.whole(row)
        if (whole === undefined) break
        rows.push(whole)
      }
      if (rows.length === stored.length) {
        const [first] = rows
        return first !== undefined && first.position + first.count - 1 < from ? rows.slice(1) : rows
      }
      // Another process may have removed the instance between two reads, and chunks are missing then. If chunks are missing again and again, the file is
      // damaged.
      if (attempt === 3) throw new Error(`parts of the journal of instance "${id}" are missing`)
    }
  }

  /** The row with its chunks; undefined if chunks are missing. The table is STRICT, so each value has the type of its column. */
  whole(row: SqlValue[]): JournalRow | undefined {
    const [turn, position, count, run, at, entries, chunkCount, instance] = row as [string, number, number, number, number, string, number | null, number]
    if (chunkCount === null) return { turn: fromText(turn), position, count, run, at, entries: fromText(entries) }
    const chunks = this.#readChunks.all(instance, position)
    if (chunks.length !== chunkCount) return undefined
    const large: Uint8Array[][] = []
    for (const chunk of chunks) (large[integer(chunk, "blob")] ??= []).push(bytes(chunk, "bytes"))
    const long = large[entriesBlob]
    const blobs = large.slice(1).map((parts) => fromText(fromChunks(parts)))
    const whole = { turn: fromText(turn), position, count, run, at, entries: fromText(long === undefined ? entries : fromChunks(long)) }
    return blobs.length === 0 ? whole : { ...whole, blobs }
  }
}
