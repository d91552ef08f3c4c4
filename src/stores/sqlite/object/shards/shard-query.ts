import type { Filter, PageRequest } from "../../../../ports/directory.ts"
import type { SqlValue } from "../../../../ports/sql-driver.ts"
import { isOdd, toText } from "../../../shared/unsafe-text.ts"
import { columnOf, comparisonOf, directionOf, wantedStatuses } from "../../../shared/query-words.ts"
import type { ListPlace } from "../../../shared/shard-cursor.ts"
import { afterPrefix, isByQueue, placeholders, type Query } from "../../tables/instance-query.ts"
import { toQueue } from "../../tables/instance-row.ts"

/** One page of copies of instances, of at most one status, by (createdAt, id). */
export function entryQuery(filter: Filter, status: string | undefined, order: PageRequest["order"], place: ListPlace | undefined, limit: number): Query {
  const where = new Where(filter)
  if (status !== undefined) where.add(`${where.bare}e.status = ?`, status)
  if (filter.workflow !== undefined) where.add(`${where.bare}e.workflow = ?`, toText(filter.workflow))
  if (place !== undefined) where.add(`(${where.created}, ${where.id}) ${comparisonOf(order)} (?, ?)`, place.createdAt, toText(place.id))
  const direction = directionOf(order)
  const sorted = `${where.bare}${where.created} ${direction}, ${where.bare}${where.id} ${direction}`
  return { sql: `SELECT e.revision, e.row FROM ${where.from} ${where.clause} ORDER BY ${sorted} LIMIT ?`, values: [...where.values, limit] }
}

export function entryCountQuery(filter: Filter, by: "status" | "workflow"): Query {
  const where = new Where(filter)
  const column = columnOf(by)
  const status = wantedStatuses(filter)
  if (status !== undefined) where.add(`e.status IN (${placeholders(status)})`, ...status)
  if (filter.workflow !== undefined) where.add(`e.workflow = ?`, toText(filter.workflow))
  return { sql: `SELECT e.${column} AS name, count(*) AS count FROM ${where.from} ${where.clause} GROUP BY e.${column}`, values: where.values }
}

class Where {
  readonly from: string
  readonly created: string
  readonly id: string
  /** A unary plus keeps SQLite from using an index on the column: an id prefix is assumed to match the fewest rows. */
  readonly bare: "+" | ""
  readonly values: SqlValue[] = []
  readonly #conditions: string[] = []

  constructor({ version, tag, queue, since, until, idPrefix = "" }: Filter) {
    const tagged = tag !== undefined
    this.from = tagged ? "perdure_index_tag t CROSS JOIN perdure_index_entry e ON e.id = t.id" : "perdure_index_entry e"
    if (isByQueue({ queue, tag, idPrefix })) this.from = "perdure_index_entry e INDEXED BY perdure_index_entry_queue"
    this.created = tagged ? "t.created_at" : "e.created_at"
    this.id = tagged ? "t.id" : "e.id"
    this.bare = idPrefix !== "" && !tagged ? "+" : ""
    if (tagged) this.add("t.tag = ?", toText(tag))
    if (version !== undefined) this.add("e.version = ?", toText(version))
    if (queue !== undefined) this.add(`e.queue = ?${toQueue(queue) === "" ? "" : " AND e.queue <> ''"}`, toQueue(queue))
    if (since !== undefined) this.add(`${this.bare}${this.created} >= ?`, since)
    if (until !== undefined) this.add(`${this.bare}${this.created} < ?`, until)
    if (isOdd(idPrefix)) this.add("0")
    else if (idPrefix !== "") {
      this.add("e.id >= ?", idPrefix)
      const end = afterPrefix(idPrefix)
      if (end !== undefined) this.add("e.id < ?", end)
    }
  }

  add(condition: string, ...values: SqlValue[]): void {
    this.#conditions.push(condition)
    this.values.push(...values)
  }

  get clause(): string {
    return this.#conditions.length === 0 ? "" : `WHERE ${this.#conditions.join(" AND ")}`
  }
}
