import { setTimeout as delay } from "node:timers/promises"
import type { ChangePage, ChangeRow } from "../../../ports/change-stream.ts"
import { foreignCursor, markOf } from "../../shared/change-cursor.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { originOf } from "./change-stream-token.ts"
import { integer, text } from "./columns.ts"
import type { Database, PgRow } from "../connection/database.ts"
import { journalColumns, toJournalRow } from "./journal-row.ts"

/** A page is read in slices, and ends with the row that makes its text this long. That limits the memory of a page. */
const textMax = 1024 * 1024
const sliceRows = 64
/** How long a read waits for open transactions, which may have written rows that come before the newest rows. */
const patienceMs = 1_000
/** When to read again if an open transaction delays the stream. No notification tells of its end. */
const heldBackMs = 500

const first: Place = { xid: 0, seq: 0, mark: "" }

/**
 * Reads the rows of all journals in the order of (transaction, number). The rows of a transaction appear when it commits, which may be after the rows of younger
 * transactions. So the reader returns only rows that are older than every open transaction. A long transaction delays the stream, but no row is missed.
 */
export class ChangeReader {
  readonly #database: Database
  readonly #onHeldBack: (againMs: number) => void
  #origin: string | undefined
  /** The transaction for which a read has waited in vain. Later reads do not wait for it. */
  #stuckAt: number | undefined
  readonly #columns = `j.xid::text AS xid, j.seq, ${journalColumns}, i.id, i.incarnation, i.workflow, i.version, i.queue`

  /** `onHeldBack` is called if there are changes that cannot be read yet: the caller is to read again after a while. */
  constructor(database: Database, onHeldBack: (againMs: number) => void) {
    this.#database = database
    this.#onHeldBack = onHeldBack
  }

  async latest(): Promise<string> {
    const origin = await this.#originOf()
    await this.#whenSettled()
    return toCursor(origin, await this.#last())
  }

  async read(after: string | undefined, limit: number, instance: string | undefined): Promise<ChangePage> {
    const origin = await this.#originOf()
    const place = after === undefined ? first : fromCursor(origin, after)
    await this.#check(place)
    await this.#whenSettled()
    // Read first: rows that are committed afterwards may be in the page, and no row from before can be missed.
    const last = await this.#last()
    const rows: ChangeRow[] = []
    let at = place
    for (let length = 0; rows.length < limit && length < textMax;) {
      const wanted = Math.min(sliceRows, limit - rows.length)
      const slice = await this.#slice(at, wanted, instance)
      for (const stored of slice) {
        at = placeOf(stored)
        const row = toChangeRow(stored, toCursor(origin, at))
        rows.push(row)
        length += row.entries.length + (row.blobs ?? []).reduce((sum, blob) => sum + blob.length, 0)
        if (length >= textMax) break
      }
      if (slice.length < wanted && length < textMax) return { rows, cursor: toCursor(origin, isBefore(at, last) ? last : at) }
    }
    return { rows, cursor: toCursor(origin, at) }
  }

  async #originOf(): Promise<string> {
    this.#origin ??= await originOf(this.#database)
    return this.#origin
  }

  async #slice({ xid, seq }: Place, limit: number, instance: string | undefined): Promise<PgRow[]> {
    const s = this.#database.schema
    const isOpen = "j.xid < pg_snapshot_xmin(pg_current_snapshot())"
    if (instance === undefined) {
      return this.#database.all(
        "changes",
        `SELECT ${this.#columns} FROM ${s}.journal j JOIN ${s}.instance i ON i.key = j.instance
        WHERE (j.xid, j.seq) > ($1::text::xid8, $2::bigint) AND ${isOpen} ORDER BY j.xid, j.seq LIMIT $3`,
        String(xid),
        seq,
        limit,
      )
    }
    // The positions of an instance have the order of the places. The search goes backwards from the last row, because a follower is near the end.
    return this.#database.all(
      "changes-of",
      `SELECT ${this.#columns} FROM ${s}.instance i JOIN ${s}.journal j ON j.instance = i.key
      WHERE i.id = $1 AND ${isOpen} AND j.position > coalesce((
        SELECT k.position FROM ${s}.journal k WHERE k.instance = i.key AND (k.xid, k.seq) <= ($2::text::xid8, $3::bigint) ORDER BY k.position DESC LIMIT 1
      ), 0) ORDER BY j.position LIMIT $4`,
      toText(instance),
      String(xid),
      seq,
      limit,
    )
  }

  async #last(): Promise<Place> {
    const s = this.#database.schema
    const row = await this.#database.get(
      "last-change",
      `SELECT j.xid::text AS xid, j.seq, j.turn FROM ${s}.journal j WHERE j.xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY j.xid DESC, j.seq DESC LIMIT 1`,
    )
    return row === undefined ? first : placeOf(row)
  }

  /** Waits until the rows that are committed now are older than every open transaction, but at most `patienceMs`. Usually there is no need to wait. */
  async #whenSettled(): Promise<void> {
    const s = this.#database.schema
    const row = await this.#database.get(
      "unsettled",
      `SELECT (SELECT j.xid::text FROM ${s}.journal j ORDER BY j.xid DESC LIMIT 1) AS newest, pg_snapshot_xmin(pg_current_snapshot())::text AS oldest`,
    )
    const newest = Number(row?.["newest"] ?? -1)
    let oldest = Number(row?.["oldest"])
    const until = performance.now() + patienceMs
    for (let pauseMs = 2; oldest <= newest && oldest !== this.#stuckAt && performance.now() < until; pauseMs = Math.min(pauseMs * 2, 50)) {
      await delay(pauseMs)
      oldest = Number((await this.#database.get("oldest", `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS oldest`))?.["oldest"])
    }
    const isHeldBack = oldest <= newest
    this.#stuckAt = isHeldBack ? oldest : undefined
    if (isHeldBack) this.#onHeldBack(heldBackMs)
  }

  /** Throws if the place cannot belong to this database: no transaction has that number yet, or another turn has the place. */
  async #check({ xid, seq, mark }: Place): Promise<void> {
    if (xid === 0) {
      if (seq === 0 && mark === "") return
      throw foreignCursor()
    }
    const row = await this.#database.get(
      "place",
      `SELECT $1::text::xid8 < pg_snapshot_xmax(pg_current_snapshot()) AS known,
        (SELECT j.turn FROM ${this.#database.schema}.journal j WHERE j.xid = $1::text::xid8 AND j.seq = $2) AS turn`,
      String(xid),
      seq,
    )
    const isOther = row?.["turn"] !== null && row !== undefined && markOf(text(row, "turn")) !== mark
    if (row?.["known"] !== true || isOther) throw foreignCursor()
  }
}

function toChangeRow(row: PgRow, cursor: string): ChangeRow {
  const queue = text(row, "queue")
  return {
    ...toJournalRow(row),
    instance: text(row, "id"),
    incarnation: text(row, "incarnation"),
    workflow: text(row, "workflow"),
    version: text(row, "version"),
    ...(queue === "" ? {} : { queue }),
    cursor,
  }
}

function placeOf(row: PgRow): Place {
  return { xid: Number(row["xid"]), seq: integer(row, "seq"), mark: markOf(text(row, "turn")) }
}

function isBefore(a: Place, b: Place): boolean {
  return a.xid < b.xid || (a.xid === b.xid && a.seq < b.seq)
}

/** `mark` identifies the row at the place: a store that was restored to an earlier state may have another row there. */
interface Place {
  readonly xid: number
  readonly seq: number
  readonly mark: string
}

function toCursor(origin: string, { xid, seq, mark }: Place): string {
  return `${origin}-${xid.toString(36)}-${seq.toString(36)}.${mark}`
}

function fromCursor(origin: string, cursor: string): Place {
  const match = /^([0-9a-z]{1,10})-([0-9a-z]{1,10})-([0-9a-z]{1,10})\.([0-9a-z]{0,7})$/.exec(cursor)
  const [xid, seq] = [match?.[2], match?.[3]].map((part) => Number.parseInt(part ?? "", 36)) as [number, number]
  if (match?.[1] !== origin || !Number.isSafeInteger(xid) || !Number.isSafeInteger(seq)) throw foreignCursor()
  return { xid, seq, mark: match[4] ?? "" }
}
