import { statuses, type Status } from "../../../core/journal/status.ts"
import type { Filter, PageRequest } from "../../../ports/directory.ts"
import { isOdd, toText } from "../../shared/unsafe-text.ts"
import type { PagePlace } from "../../shared/page-cursor.ts"
import { columnOf, comparisonOf, directionOf, wantedStatuses } from "../../shared/query-words.ts"
import { instanceColumns, toQueue } from "./instance-row.ts"

export interface Query {
  readonly sql: string
  readonly values: readonly unknown[]
}

/**
 * The query of one page. Each status is read in the order of its index, and only the first rows of each are merged. One query over all statuses would sort
 * all their rows.
 */
export function pageQuery(schema: string, filter: Filter, order: PageRequest["order"], place: PagePlace | undefined, limit: number): Query {
  const values = new Values()
  const direction = directionOf(order)
  const parts = statusesOf(filter).map((status) => {
    const where = new Where(schema, filter, values)
    const { created, key } = where
    if (status !== undefined) where.add(`i.status = ${values.bind(status)}`)
    if (filter.workflow !== undefined) where.add(`i.workflow = ${values.bind(toText(filter.workflow))}`)
    if (place !== undefined)
      where.add(`(${created}, ${key}) ${comparisonOf(order)} (${values.bind(place.createdAt)}::bigint, ${values.bind(place.key)}::bigint)`)
    return `(SELECT ${instanceColumns} FROM ${where.from} ${where.clause} ORDER BY ${created} ${direction}, ${key} ${direction} LIMIT ${values.bind(limit)})`
  })
  return {
    sql: `SELECT * FROM (${parts.join(" UNION ALL ")}) page ORDER BY created_at ${direction}, key ${direction} LIMIT ${values.bind(limit)}`,
    values: values.all,
  }
}

export function countQuery(schema: string, filter: Filter, by: "status" | "workflow"): Query {
  const values = new Values()
  const where = new Where(schema, filter, values)
  const column = columnOf(by)
  const status = wantedStatuses(filter)
  if (status !== undefined) where.add(`i.status = ANY (${values.bind(status)}::text[])`)
  if (filter.workflow !== undefined) where.add(`i.workflow = ${values.bind(toText(filter.workflow))}`)
  return { sql: `SELECT i.${column} AS name, count(*) AS count FROM ${where.from} ${where.clause} GROUP BY i.${column}`, values: values.all }
}

/** The statuses to read one by one: the indexes by workflow and by queue begin with the status. */
export function statusesOf(filter: Filter): readonly (Status | undefined)[] {
  const { workflow, tag, queue, idPrefix = "" } = filter
  const wanted = wantedStatuses(filter)
  if (wanted !== undefined) return wanted
  if (queue !== undefined && toQueue(queue) !== "" && tag === undefined && idPrefix === "") return statuses
  return workflow !== undefined && tag === undefined && idPrefix === "" ? statuses : [undefined]
}

class Values {
  readonly all: unknown[] = []

  bind(value: unknown): string {
    this.all.push(value)
    return `$${this.all.length}`
  }
}

class Where {
  readonly from: string
  readonly created: string
  readonly key: string
  readonly #conditions: string[] = []

  constructor(schema: string, { version, tag, queue, since, until, idPrefix = "" }: Filter, values: Values) {
    const tagged = tag !== undefined
    this.from = tagged ? `${schema}.tag t JOIN ${schema}.instance i ON i.key = t.instance` : `${schema}.instance i`
    this.created = tagged ? "t.created_at" : "i.created_at"
    this.key = tagged ? "t.instance" : "i.key"
    if (tagged) this.add(`t.tag = ${values.bind(toText(tag))}`)
    if (version !== undefined) this.add(`i.version = ${values.bind(toText(version))}`)
    if (queue !== undefined) this.add(`i.queue = ${values.bind(toQueue(queue))}${toQueue(queue) === "" ? "" : " AND i.queue <> ''"}`)
    if (since !== undefined) this.add(`${this.created} >= ${values.bind(since)}`)
    if (until !== undefined) this.add(`${this.created} < ${values.bind(until)}`)
    if (isOdd(idPrefix)) this.add("false")
    else if (idPrefix !== "") {
      this.add(`i.id >= ${values.bind(idPrefix)}`)
      const end = afterPrefix(idPrefix)
      if (end !== undefined) this.add(`i.id < ${values.bind(end)}`)
    }
  }

  add(condition: string): void {
    this.#conditions.push(condition)
  }

  get clause(): string {
    return this.#conditions.length === 0 ? "" : `WHERE ${this.#conditions.join(" AND ")}`
  }
}

/** The first text, in the order of code points, behind all texts with this prefix. */
function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last < 0x10ffff) return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
  }
  return undefined
}
