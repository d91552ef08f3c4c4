import type { Filter, PageRequest } from "../../../ports/directory.ts"
import type { SqlValue } from "../../../ports/sql-driver.ts"
import type { PagePlace } from "../../shared/page-cursor.ts"
import { columnOf, comparisonOf, directionOf, wantedStatuses } from "../../shared/query-words.ts"
import { instanceColumns, toQueue } from "./instance-row.ts"
import { isOdd, toText } from "../../shared/unsafe-text.ts"

export interface Query {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/**
 * One page of instances, of at most one status. A unary plus keeps SQLite from using an index on that column: an id prefix is assumed to match
 * fewer rows than a status or a workflow, which SQLite cannot know.
 */
export function pageQuery(filter: Filter, status: string | undefined, order: PageRequest["order"], place: PagePlace | undefined, limit: number): Query {
  const where = new Where(filter)
  const { created, key } = where
  if (status !== undefined) where.add(`${where.byPrefix ? "+" : ""}i.status = ?`, status)
  if (filter.workflow !== undefined) where.add(`${where.byPrefix ? "+" : ""}i.workflow = ?`, toText(filter.workflow))
  if (place !== undefined) where.add(`(${created}, ${key}) ${comparisonOf(order)} (?, ?)`, place.createdAt, place.key)
  const direction = directionOf(order)
  const sorted = where.byPrefix ? `+${created} ${direction}, +${key} ${direction}` : `${created} ${direction}, ${key} ${direction}`
  return { sql: `SELECT ${instanceColumns} FROM ${where.from} ${where.clause} ORDER BY ${sorted} LIMIT ?`, values: [...where.values, limit] }
}

export function countQuery(filter: Filter, by: "status" | "workflow"): Query {
  const where = new Where(filter)
  const column = columnOf(by)
  const status = wantedStatuses(filter)
  if (status !== undefined) where.add(`i.status IN (${placeholders(status)})`, ...status)
  if (filter.workflow !== undefined) where.add(`i.workflow = ?`, toText(filter.workflow))
  return { sql: `SELECT i.${column} AS name, count(*) AS count FROM ${where.from} ${where.clause} GROUP BY i.${column}`, values: where.values }
}

class Where {
  readonly from: string
  readonly created: string
  readonly key: string
  readonly byPrefix: boolean
  readonly values: SqlValue[] = []
  readonly #conditions: string[] = []

  constructor({ version, tag, queue, since, until, idPrefix = "" }: Filter) {
    const tagged = tag !== undefined
    this.from = tagged ? "perdure_tag t CROSS JOIN perdure_instance i ON i.key = t.instance" : "perdure_instance i"
    if (isByQueue({ queue, tag, idPrefix })) this.from = "perdure_instance i INDEXED BY perdure_instance_queue"
    this.created = tagged ? "t.created_at" : "i.created_at"
    this.key = tagged ? "t.instance" : "i.key"
    this.byPrefix = idPrefix !== "" && !tagged
    if (tagged) this.add("t.tag = ?", toText(tag))
    if (version !== undefined) this.add("i.version = ?", toText(version))
    if (queue !== undefined) this.add(`i.queue = ?${toQueue(queue) === "" ? "" : " AND i.queue <> ''"}`, toQueue(queue))
    if (since !== undefined) this.add(`${this.created} >= ?`, since)
    if (until !== undefined) this.add(`${this.created} < ?`, until)
    if (isOdd(idPrefix)) this.add("0")
    else if (idPrefix !== "") {
      this.add("i.id >= ?", idPrefix)
      const end = afterPrefix(idPrefix)
      if (end !== undefined) this.add("i.id < ?", end)
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

/** As many question marks as there are values to bind. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ")
}

/** Named queues have an index of their own, in which the default one is not: that is the one of most. */
export function isByQueue({ queue, tag, idPrefix = "" }: QueueFilter): boolean {
  return queue !== undefined && toQueue(queue) !== "" && tag === undefined && idPrefix === ""
}

interface QueueFilter {
  readonly queue?: string | undefined
  readonly tag?: string | undefined
  readonly idPrefix?: string
}

/** The first text, in SQLite's order of code points, that is behind all texts with this prefix. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last < 0x10ffff) return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
  }
  return undefined
}
