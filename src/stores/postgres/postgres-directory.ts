import type { ChangePage } from "../../ports/change-stream.ts"
import type { Delivery, Directory, Filter, Page, PageRequest, StatusWithEnding, WorkerLease } from "../../ports/directory.ts"
import type { InstanceRow, NewMessage, Turn } from "../../ports/journal-store.ts"
import { fromText, toText } from "../shared/unsafe-text.ts"
import { fromCursor, toCursor } from "../shared/page-cursor.ts"
import { isOldestFirst } from "../shared/query-words.ts"
import { offersFrom, withOffers } from "../shared/worker-offers.ts"
import { ChangeReader } from "./reads/change-reader.ts"
import { isLive } from "./schema/claim-functions.ts"
import { integer, list, text } from "./reads/columns.ts"
import type { Database } from "./connection/database.ts"
import { countQuery, pageQuery, statusesOf } from "./reads/instance-query.ts"
import { toInstanceRow } from "./reads/instance-row.ts"
import type { PostgresComponents } from "./postgres-components.ts"
import { deliver, deliverOrCreate, deliverWithPush, readInstance } from "./turns/instance-queries.ts"
import { statusReader } from "./reads/status-reader.ts"

export class PostgresDirectory implements Directory {
  readonly #database: Database
  readonly #components: PostgresComponents
  readonly #changes: ChangeReader
  readonly #statuses: ReturnType<typeof statusReader>

  constructor(components: PostgresComponents) {
    this.#components = components
    this.#database = components.database
    this.#statuses = statusReader(components.database)
    this.#changes = new ChangeReader(components.database, (againMs) => components.notifier.lookLater(againMs))
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    if (messages.length === 0) return []
    const { notifier } = this.#components
    const notification = notifier.notificationFor(messages)
    const [message] = messages
    if (notification && "pushPayload" in notification && message) return [await deliverWithPush(this.#components.calls, message, notification)]
    if (notification) return deliver(this.#database, this.#database, messages, notification)
    let mayBeDelivered = true
    try {
      const deliveries = await deliver(this.#database, this.#database, messages)
      mayBeDelivered = deliveries.includes("delivered")
      return deliveries
    } finally {
      // Also if the answer was lost, because the messages may be there.
      if (mayBeDelivered) notifier.messagesDelivered(messages.map(({ instance }) => instance))
    }
  }

  async deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created"> {
    try {
      return await this.#database.transaction((queries) => deliverOrCreate(queries, this.#database, message, create))
    } finally {
      this.#components.notifier.work()
    }
  }

  async get(id: string): Promise<InstanceRow | undefined> {
    return readInstance(this.#database, this.#database, id)
  }

  readonly statusWithEnding = (id: string): Promise<StatusWithEnding | undefined> => this.#statuses.read(id)

  async list(filter: Filter, { limit, order, cursor }: PageRequest): Promise<Page<InstanceRow>> {
    isOldestFirst(order)
    const place = cursor === undefined ? undefined : fromCursor(cursor)
    if (this.#database.closed || statusesOf(filter).length > 0) {
      const { sql, values } = pageQuery(this.#database.schema, filter, order, place, limit + 1)
      const found = await this.#database.unnamed(sql, ...values)
      const rows = found.slice(0, limit)
      const last = rows.at(-1)
      const page = { items: rows.map(toInstanceRow) }
      if (last === undefined || found.length === rows.length) return page
      return { ...page, cursor: toCursor({ createdAt: integer(last, "created_at"), key: integer(last, "key") }) }
    }
    return { items: [] }
  }

  async count(filter: Filter, by: "status" | "workflow"): Promise<Record<string, number>> {
    const { sql, values } = countQuery(this.#database.schema, filter, by)
    const rows = await this.#database.unnamed(sql, ...values)
    return Object.fromEntries(rows.map((row) => [text(row, "name"), integer(row, "count")]))
  }

  async workers(): Promise<readonly WorkerLease[]> {
    const { schema: s, functions } = this.#database
    const rows = await this.#database.all(
      "workers",
      `SELECT l.worker, CASE WHEN ${isLive(`${functions.nowMs}()`)} THEN l.until ELSE least(l.until, ${functions.nowMs}()) END AS until, o.offers FROM ${s}.lease l LEFT JOIN ${s}.offer o ON o.worker = l.worker ORDER BY l.worker`,
    )
    return rows.map((row) => withOffers({ worker: text(row, "worker"), until: integer(row, "until") }, offersFrom(row["offers"] as string | null)))
  }

  async changes(after: string | undefined, limit: number, instance?: string): Promise<ChangePage> {
    this.#components.notifier.follow()
    return this.#changes.read(after, limit, instance)
  }

  async latestChange(): Promise<string> {
    return this.#changes.latest()
  }

  async remove(ids: readonly string[]): Promise<readonly string[]> {
    const row = await this.#database.get("remove", `SELECT ${this.#database.functions.removeInstances}($1) AS removed`, ids.map(toText))
    return list<string>(row, "removed").map(fromText)
  }
}
