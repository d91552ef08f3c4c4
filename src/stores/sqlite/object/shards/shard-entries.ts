import type { IndexRemoval, IndexUpdate } from "../../../../ports/cloudflare/index-shard.ts"
import type { InstanceRow } from "../../../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../../ports/sql-driver.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { toQueue } from "../../tables/instance-row.ts"
import { integer, optionalInteger, text } from "../../driver/sql-columns.ts"

/** How long a shard remembers removed instances: far longer than an update can be under way. */
const goneKeptMs = 7 * 24 * 60 * 60 * 1_000

/** The copies of instances in a shard. All methods run within a transaction of the caller. */
export class ShardEntries {
  readonly #find: SqlStatement
  readonly #gone: SqlStatement
  readonly #write: SqlStatement
  readonly #remove: SqlStatement
  readonly #tag: SqlStatement
  readonly #untag: SqlStatement
  readonly #addGone: SqlStatement
  readonly #removeOldGone: SqlStatement

  constructor(driver: SqlDriver) {
    this.#find = driver.prepare(`SELECT incarnation, revision, created_at, row FROM perdure_index_entry WHERE id = ?`)
    this.#gone = driver.prepare(`SELECT revision FROM perdure_index_gone WHERE id = ? AND incarnation = ?`)
    this.#write = driver.prepare(
      `INSERT INTO perdure_index_entry (id, incarnation, revision, workflow, version, status, queue, created_at, row) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, revision = excluded.revision, workflow = excluded.workflow,
        version = excluded.version, status = excluded.status, queue = excluded.queue, created_at = excluded.created_at, row = excluded.row`,
    )
    this.#remove = driver.prepare(`DELETE FROM perdure_index_entry WHERE id = ?`)
    this.#tag = driver.prepare(`INSERT INTO perdure_index_tag (tag, created_at, id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`)
    this.#untag = driver.prepare(`DELETE FROM perdure_index_tag WHERE tag = ? AND created_at = ? AND id = ?`)
    this.#addGone = driver.prepare(
      `INSERT INTO perdure_index_gone (id, incarnation, revision, at) VALUES (?, ?, ?, ?)
      ON CONFLICT (id, incarnation) DO UPDATE SET revision = excluded.revision, at = excluded.at WHERE perdure_index_gone.revision IS NOT NULL`,
    )
    this.#removeOldGone = driver.prepare(`DELETE FROM perdure_index_gone WHERE at < ?`)
  }

  /** `refused`: the incarnation was removed, and the shard ignores its updates. `new`: the shard knew nothing of the incarnation. */
  write({ row, revision }: IndexUpdate): "new" | "known" | "refused" {
    const { id, incarnation, createdAt } = row
    const gone = this.#gone.get(toText(id), toText(incarnation))
    if (gone !== undefined && revision <= (optionalInteger(gone, "revision") ?? Infinity)) return "refused"
    const before = this.#find.get(toText(id))
    if (before !== undefined && text(before, "incarnation") !== incarnation) {
      // The copy belongs to another incarnation of the id. The incarnation that was created later counts.
      if (createdAt <= integer(before, "created_at")) return "refused"
    } else if (before !== undefined && revision <= integer(before, "revision")) return "known"
    if (before !== undefined) this.#removeTags(id, before)
    const { owner: _, ...copy } = row
    this.#write.run(
      toText(id),
      toText(incarnation),
      revision,
      toText(row.workflow),
      toText(row.version),
      row.status,
      toQueue(row.queue),
      createdAt,
      JSON.stringify(copy),
    )
    for (const tag of row.tags) this.#tag.run(toText(tag), createdAt, toText(id))
    return before === undefined && gone === undefined ? "new" : "known"
  }

  remove({ id, incarnation, movedAt }: IndexRemoval, now: number): void {
    const before = this.#find.get(toText(id))
    if (before !== undefined && text(before, "incarnation") === incarnation && integer(before, "revision") <= (movedAt ?? Infinity)) {
      this.#removeTags(id, before)
      this.#remove.run(toText(id))
    }
    this.#addGone.run(toText(id), toText(incarnation), movedAt ?? null, now)
    this.#removeOldGone.run(now - goneKeptMs)
  }

  #removeTags(id: string, before: SqlRow): void {
    for (const tag of toEntryRow(before).tags) this.#untag.run(toText(tag), integer(before, "created_at"), toText(id))
  }
}

/** JSON escapes the characters that SQLite text cannot hold. */
export function toEntryRow(row: SqlRow): InstanceRow {
  return JSON.parse(text(row, "row")) as InstanceRow
}
