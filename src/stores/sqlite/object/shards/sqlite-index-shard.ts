import type { Filter, Page } from "../../../../ports/directory.ts"
import type {
  IndexChangePage,
  IndexChangeRequest,
  IndexEntry,
  IndexFilter,
  IndexListRequest,
  IndexRemoval,
  IndexShard,
  IndexUpdate,
} from "../../../../ports/cloudflare/index-shard.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../../ports/sql-driver.ts"
import { isOldestFirst } from "../../../shared/query-words.ts"
import { comparePlaces, fromListCursor, toListCursor } from "../../../shared/shard-cursor.ts"
import type { Query } from "../../tables/instance-query.ts"
import { migrate } from "../../schema/migrate.ts"
import { integer, text } from "../../driver/sql-columns.ts"
import { statusesOf } from "../../sqlite-directory.ts"
import { ShardChanges } from "./shard-changes.ts"
import { ShardEntries, toEntryRow } from "./shard-entries.ts"
import { entryCountQuery, entryQuery } from "./shard-query.ts"
import { shardMigrations, shardVersions } from "./shard-schema.ts"

const limitDefault = 50

/** An index shard in a SQLite database of its own. The methods are `async` so that errors of the driver become rejections. */
export class SqliteIndexShard implements IndexShard {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #entries: ShardEntries
  readonly #changes: ShardChanges
  /** By statement text. Callers use few combinations of filters, and values are bound. */
  readonly #queries = new Map<string, SqlStatement>()

  constructor(driver: SqlDriver, now: () => number) {
    migrate(driver, shardMigrations, shardVersions)
    this.#driver = driver
    this.#now = now
    this.#entries = new ShardEntries(driver)
    this.#changes = new ShardChanges(driver)
  }

  async indexWrite(updates: readonly IndexUpdate[]): Promise<void> {
    this.#driver.transaction(() => {
      for (const update of updates) {
        const entry = this.#entries.write(update)
        if (entry !== "refused") this.#changes.append(update, entry === "new")
      }
    })
  }

  async indexRemove(removals: readonly IndexRemoval[]): Promise<void> {
    const now = this.#now()
    this.#driver.transaction(() => {
      for (const removal of removals) {
        this.#entries.remove(removal, now)
        if (removal.movedAt === undefined) this.#changes.remove(removal.incarnation)
      }
    })
  }

  async indexList({ limit = limitDefault, order = "newest", cursor, ...wanted }: IndexListRequest): Promise<Page<IndexEntry>> {
    const filter = toFilter(wanted)
    const isForward = isOldestFirst(order)
    const after = cursor === undefined ? undefined : fromListCursor(cursor)
    // One query for each status: each follows its index in order, while one query for all statuses would have to sort all rows.
    const found = statusesOf(filter).flatMap((status) => this.#all(entryQuery(filter, status, order, after, limit + 1)).map(toEntry))
    found.sort((a, b) => (isForward ? comparePlaces(a.row, b.row) : comparePlaces(b.row, a.row)))
    const items = found.slice(0, limit)
    const last = items.at(-1)
    return { items, ...(last !== undefined && found.length > items.length ? { cursor: toListCursor(last.row) } : undefined) }
  }

  async indexCount(filter: IndexFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    return Object.fromEntries(this.#all(entryCountQuery(toFilter(filter), by)).map((row) => [text(row, "name"), integer(row, "count")]))
  }

  async indexChanges(request: IndexChangeRequest): Promise<IndexChangePage> {
    return this.#changes.read(request)
  }

  #all({ sql, values }: Query): SqlRow[] {
    const statement = this.#queries.get(sql) ?? this.#driver.prepare(sql)
    this.#queries.set(sql, statement)
    return statement.all(...values)
  }
}

function toFilter({ type, status, ...rest }: IndexFilter): Filter {
  return {
    ...rest,
    ...(type === undefined ? undefined : { workflow: type }),
    ...(status === undefined ? undefined : { status: typeof status === "string" ? [status] : status }),
  }
}

function toEntry(row: SqlRow): IndexEntry {
  return { row: toEntryRow(row), revision: integer(row, "revision") }
}
