import { statuses, type Status } from "../../core/journal/status.ts"
import type { ChangePage } from "../../ports/change-stream.ts"
import type { Directory, Filter, Page, PageRequest, WorkerLease } from "../../ports/directory.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../ports/sql-driver.ts"
import { toChangeCursor } from "../shared/change-cursor.ts"
import { fromCursor, toCursor } from "../shared/page-cursor.ts"
import { isOldestFirst, wantedStatuses } from "../shared/query-words.ts"
import { withOffers } from "../shared/worker-offers.ts"
import { ChangeTable } from "./tables/change-table.ts"
import { countQuery, isByQueue, pageQuery, type Query } from "./tables/instance-query.ts"
import { toInstanceRow } from "./tables/instance-row.ts"
import type { OfferTable } from "./tables/offer-table.ts"
import { integer, text } from "./driver/sql-columns.ts"
import { InstanceTable } from "./tables/instance-table.ts"
import type { SqliteTables } from "./sqlite-components.ts"

export class SqliteDirectory extends InstanceTable implements Directory {
  readonly #driver: SqlDriver
  readonly #changes: ChangeTable
  readonly #workers: SqlStatement
  readonly #offers: OfferTable | undefined
  /** By statement text. Callers use few combinations of filters, and values are bound. */
  readonly #queries = new Map<string, SqlStatement>()

  constructor(tables: SqliteTables) {
    super(tables)
    const { driver, journal, offers } = tables
    this.#driver = driver
    this.#offers = offers
    this.#changes = new ChangeTable(driver, journal)
    this.#workers = driver.prepare(`SELECT worker, until FROM perdure_lease WHERE worker > '' ORDER BY worker`)
  }

  async list(filter: Filter, { limit, order, cursor }: PageRequest): Promise<Page<InstanceRow>> {
    const isForward = isOldestFirst(order)
    const place = cursor === undefined ? undefined : fromCursor(cursor)
    // One query for each status: each follows its index in order, while one query for all statuses would have to sort all rows.
    const wanted = statusesOf(filter)
    const found = wanted.flatMap((status) => this.#all(pageQuery(filter, status, order, place, limit + 1)))
    if (wanted.length > 1) found.sort((a, b) => (isForward ? byCreation(a, b) : byCreation(b, a)))
    const rows = found.slice(0, limit)
    const last = rows.at(-1)
    const page = { items: rows.map((row) => toInstanceRow(row)) }
    if (last === undefined || found.length === rows.length) return page
    return { ...page, cursor: toCursor({ createdAt: integer(last, "created_at"), key: integer(last, "key") }) }
  }

  async count(filter: Filter, by: "status" | "workflow"): Promise<Record<string, number>> {
    const rows = this.#all(countQuery(filter, by))
    return Object.fromEntries(rows.map((row) => [text(row, "name"), integer(row, "count")]))
  }

  async workers(): Promise<readonly WorkerLease[]> {
    const offers = this.#offers?.all()
    return this.#workers.all().map((row) => {
      const worker = text(row, "worker")
      return withOffers({ worker, until: integer(row, "until") }, offers?.get(worker))
    })
  }

  async changes(after: string | undefined, limit: number, instance?: string): Promise<ChangePage> {
    return this.#changes.read(after, limit, instance)
  }

  async latestChange(): Promise<string> {
    return toChangeCursor(this.#changes.latest())
  }

  #all({ sql, values }: Query): SqlRow[] {
    const query = this.#queries.get(sql) ?? this.#driver.prepare(sql)
    this.#queries.set(sql, query)
    return query.all(...values)
  }
}

/**
 * The statuses to query one by one, because the indexes by workflow and by queue hold the status before the creation time; [undefined]: one query serves
 * all statuses.
 */
export function statusesOf(filter: Filter): readonly (Status | undefined)[] {
  const { workflow, tag, idPrefix = "" } = filter
  const wanted = wantedStatuses(filter)
  if (wanted !== undefined) return wanted
  if (isByQueue(filter)) return statuses
  return workflow !== undefined && tag === undefined && idPrefix === "" ? statuses : [undefined]
}

function byCreation(a: SqlRow, b: SqlRow): number {
  return integer(a, "created_at") - integer(b, "created_at") || integer(a, "key") - integer(b, "key")
}
