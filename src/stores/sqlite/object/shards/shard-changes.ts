import type { Change, ChangeType } from "../../../../core/journal/change.ts"
import { defaultQueue } from "../../../../core/workflow/task-queue.ts"
import type { IndexChangePage, IndexChangeRequest, IndexedChange, IndexUpdate } from "../../../../ports/cloudflare/index-shard.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../../ports/sql-driver.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { toQueue } from "../../tables/instance-row.ts"
import { integer, text } from "../../driver/sql-columns.ts"

const valueColumns = "instance, incarnation, position, run, at, type, workflow, version, queue, data"
const columns = `seq, ${valueColumns}`

/** The changes of a shard's instances. One object writes, so `seq` is in the order of commits: no change appears before a change that was read. */
export class ShardChanges {
  readonly #append: SqlStatement
  readonly #appendTwo: SqlStatement
  readonly #remove: SqlStatement
  readonly #ofAll: SqlStatement
  readonly #ofOne: SqlStatement
  readonly #latest: SqlStatement
  readonly #mark: SqlStatement

  constructor(driver: SqlDriver) {
    this.#append = driver.prepare(
      `INSERT INTO perdure_index_change (${valueColumns})
      SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM perdure_index_change WHERE incarnation = ? AND position >= ?)`,
    )
    const values = `(${valueColumns
      .split(", ")
      .map(() => "?")
      .join(", ")})`
    this.#appendTwo = driver.prepare(`INSERT INTO perdure_index_change (${valueColumns}) VALUES ${values}, ${values} ON CONFLICT DO NOTHING`)
    this.#remove = driver.prepare(`DELETE FROM perdure_index_change WHERE incarnation = ?`)
    this.#ofAll = driver.prepare(`SELECT ${columns} FROM perdure_index_change WHERE seq > ? ORDER BY seq LIMIT ?`)
    this.#ofOne = driver.prepare(`SELECT ${columns} FROM perdure_index_change WHERE instance = ? AND seq > ? ORDER BY seq LIMIT ?`)
    // SQLite keeps this number even when the last rows are deleted.
    this.#latest = driver.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'perdure_index_change'`)
    this.#mark = driver.prepare(`SELECT mark FROM perdure_index_mark`)
  }

  /** Skips changes that the shard has, and changes before the newest stored one: an update that is repeated begins with known changes. */
  append({ row, changes }: IndexUpdate, isNew: boolean): void {
    const incarnation = toText(row.incarnation)
    const workflow = [toText(row.workflow), toText(row.version), toQueue(row.queue)] as const
    const rows = changes.map(({ position, run, at, type, data }) => [toText(row.id), incarnation, position, run, at, type, ...workflow, JSON.stringify(data)])
    // A short instance has two changes in its first update: its start and its end. One statement inserts both.
    if (isNew && rows.length === 2) return void this.#appendTwo.run(...rows.flat())
    rows.forEach((values, at) => this.#append.run(...values, incarnation, changes[at]?.position ?? 0))
  }

  remove(incarnation: string): void {
    this.#remove.run(toText(incarnation))
  }

  read({ after, limit, instance }: IndexChangeRequest): IndexChangePage {
    const rows = instance === undefined ? this.#ofAll.all(after, limit + 1) : this.#ofOne.all(toText(instance), after, limit + 1)
    const latest = this.#latest.get()
    const mark = this.#mark.get()
    if (mark === undefined) throw new Error("a shard has a mark")
    return {
      changes: rows.slice(0, limit).map(toIndexedChange),
      isLast: rows.length <= limit,
      latest: latest === undefined ? 0 : integer(latest, "seq"),
      mark: text(mark, "mark"),
    }
  }
}

function toIndexedChange(row: SqlRow): IndexedChange {
  const incarnation = text(row, "incarnation")
  const position = integer(row, "position")
  return {
    seq: integer(row, "seq"),
    id: `${incarnation}:${position}`,
    incarnation,
    type: text(row, "type") as ChangeType,
    at: integer(row, "at"),
    instance: text(row, "instance"),
    workflow: text(row, "workflow"),
    version: text(row, "version"),
    taskQueue: text(row, "queue") || defaultQueue,
    run: integer(row, "run"),
    position,
    data: JSON.parse(text(row, "data")) as Change["data"],
  }
}
