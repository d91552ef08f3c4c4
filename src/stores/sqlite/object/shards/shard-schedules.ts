import type { Page } from "../../../../ports/directory.ts"
import type { ScheduleIndex, ScheduleListRequest } from "../../../../ports/cloudflare/index-shard.ts"
import type { ScheduleRow } from "../../../../ports/schedule-store.ts"
import type { SqlDriver, SqlStatement } from "../../../../ports/sql-driver.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { migrate } from "../../schema/migrate.ts"
import { integer, text } from "../../driver/sql-columns.ts"
import { shardMigrations, shardVersions } from "./shard-schema.ts"

/** The copies of schedules in a shard. The copy with the higher revision counts; of two incarnations, the one that was created later. */
export class SqliteShardSchedules implements ScheduleIndex {
  readonly #driver: SqlDriver
  readonly #find: SqlStatement
  readonly #write: SqlStatement
  readonly #remove: SqlStatement
  readonly #list: SqlStatement
  readonly #listOf: SqlStatement

  constructor(driver: SqlDriver) {
    migrate(driver, shardMigrations, shardVersions)
    this.#driver = driver
    this.#find = driver.prepare(`SELECT incarnation, revision, created_at FROM perdure_index_schedule WHERE id = ?`)
    this.#write = driver.prepare(
      `INSERT INTO perdure_index_schedule (id, incarnation, revision, workflow, created_at, row) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, revision = excluded.revision, workflow = excluded.workflow,
        created_at = excluded.created_at, row = excluded.row`,
    )
    this.#remove = driver.prepare(`DELETE FROM perdure_index_schedule WHERE id = ? AND incarnation = ?`)
    this.#list = driver.prepare(`SELECT row FROM perdure_index_schedule WHERE id > ? ORDER BY id LIMIT ?`)
    this.#listOf = driver.prepare(`SELECT row FROM perdure_index_schedule WHERE workflow = ? AND id > ? ORDER BY id LIMIT ?`)
  }

  async scheduleWrite(row: ScheduleRow): Promise<void> {
    this.#driver.transaction(() => this.#writeRow(row))
  }

  #writeRow(row: ScheduleRow): void {
    const { id, incarnation, revision, workflow, createdAt } = row
    const before = this.#find.get(toText(id))
    if (before !== undefined) {
      const isSameIncarnation = text(before, "incarnation") === incarnation
      if (isSameIncarnation ? revision <= integer(before, "revision") : createdAt < integer(before, "created_at")) return
    }
    this.#write.run(toText(id), toText(incarnation), revision, toText(workflow), createdAt, JSON.stringify(row))
  }

  async scheduleRemove({ id, incarnation }: { readonly id: string; readonly incarnation: string }): Promise<void> {
    this.#remove.run(toText(id), toText(incarnation))
  }

  async scheduleList({ workflow, limit, after = "" }: ScheduleListRequest): Promise<Page<ScheduleRow>> {
    const from = toText(after)
    const rows = workflow === undefined ? this.#list.all(from, limit + 1) : this.#listOf.all(toText(workflow), from, limit + 1)
    const items = rows.slice(0, limit).map((row) => JSON.parse(text(row, "row")) as ScheduleRow)
    const last = items.at(-1)
    return { items, ...(last !== undefined && rows.length > limit ? { cursor: last.id } : undefined) }
  }
}
