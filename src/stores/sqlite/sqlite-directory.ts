import { isTerminal, statuses, type Status } from "../../core/status.ts"
import type { ChangePage } from "../../ports/change-stream.ts"
import type { Delivery, Directory, Filter, Page, PageRequest, WorkerLease } from "../../ports/directory.ts"
import type { InstanceRow, NewMessage, Turn } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../ports/sql-driver.ts"
import { toChangeCursor } from "../change-cursor.ts"
import { fromCursor, toCursor } from "../page-cursor.ts"
import { ChangeTable } from "./change-table.ts"
import type { InboxTable } from "./inbox-table.ts"
import { countQuery, isByQueue, pageQuery, type Query } from "./instance-query.ts"
import { InstanceRemover } from "./instance-remover.ts"
import { instanceColumns, toInstanceRow } from "./instance-row.ts"
import { onlyInstance } from "./only-instance.ts"
import { toText } from "../odd-text.ts"
import { integer, text } from "./sql-columns.ts"
import type { SqliteFlow } from "./sqlite-flow.ts"
import type { SqliteTables } from "./sqlite-tables.ts"
import type { SqliteTurns } from "./sqlite-turns.ts"

export class SqliteDirectory implements Directory {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #inbox: InboxTable
  readonly #turns: SqliteTurns
  readonly #flow: SqliteFlow
  readonly #remover: InstanceRemover
  readonly #changes: ChangeTable
  readonly #get: SqlStatement
  readonly #status: SqlStatement
  readonly #workers: SqlStatement
  /** Filters come in few combinations; their values are bound. */
  readonly #queries = new Map<string, SqlStatement>()

  constructor({ driver, now, journal, inbox, turns, flow }: SqliteTables) {
    this.#driver = driver
    this.#now = now
    this.#inbox = inbox
    this.#turns = turns
    this.#flow = flow
    this.#remover = new InstanceRemover(driver, inbox)
    this.#changes = new ChangeTable(driver, journal)
    this.#get = driver.prepare(`SELECT ${instanceColumns} FROM perdure_instance i WHERE i.id = ?`)
    this.#status = driver.prepare(`SELECT status FROM perdure_instance WHERE id = ?`)
    this.#workers = driver.prepare(`SELECT worker, until FROM perdure_lease WHERE worker > '' ORDER BY worker`)
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    if (messages.length === 0) return []
    const now = this.#now()
    return this.#driver.transaction(() => messages.map((message) => this.#inbox.deliver(message, now)))
  }

  async deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created"> {
    const now = this.#now()
    try {
      return this.#flow.transaction(() => {
        this.#turns.begin()
        const existed = this.#status.get(toText(create.instance)) !== undefined
        const created = this.#turns.write(create) === "committed"
        // Sent again after an unknown outcome: the message went in together with the creation.
        const delivery = existed && created ? "created" : this.#inbox.deliver(message, now)
        return created ? "created" : delivery
      })
    } catch (error) {
      this.#turns.forget()
      throw error
    }
  }

  async get(id: string): Promise<InstanceRow | undefined> {
    const only = this.#driver.isSmall === true ? onlyInstance(this.#driver) : undefined
    const row = only?.["id"] === toText(id) ? only : this.#get.get(toText(id))
    return row === undefined ? undefined : toInstanceRow(row)
  }

  async list(filter: Filter, { limit, order, cursor }: PageRequest): Promise<Page<InstanceRow>> {
    const place = cursor === undefined ? undefined : fromCursor(cursor)
    // One query per status: each follows its index in order, where one for all would have to sort every row of them.
    const wanted = statusesOf(filter)
    const found = wanted.flatMap((status) => this.#all(pageQuery(filter, status, order, place, limit + 1)))
    if (wanted.length > 1) found.sort((a, b) => (order === "oldest" ? byCreation(a, b) : byCreation(b, a)))
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
    return this.#workers.all().map((row) => ({ worker: text(row, "worker"), until: integer(row, "until") }))
  }

  async remove(ids: readonly string[]): Promise<readonly string[]> {
    const ended = ids.filter((id) => {
      const row = this.#status.get(toText(id))
      return row !== undefined && isTerminal(text(row, "status") as Status)
    })
    if (ended.length === 0) return []
    try {
      return this.#driver.transaction(() => this.#remover.remove(ended))
    } finally {
      this.#turns.forget()
    }
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

/** Those of a workflow, and of a named queue, are in the index by their status. */
export function statusesOf(filter: Filter): readonly (Status | undefined)[] {
  const { status, workflow, tag, idPrefix = "" } = filter
  if (status !== undefined) return [...new Set(status)]
  if (isByQueue(filter)) return statuses
  return workflow !== undefined && tag === undefined && idPrefix === "" ? statuses : [undefined]
}

function byCreation(a: SqlRow, b: SqlRow): number {
  return integer(a, "created_at") - integer(b, "created_at") || integer(a, "key") - integer(b, "key")
}
