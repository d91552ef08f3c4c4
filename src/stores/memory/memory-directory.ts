import { isTerminal } from "../../core/journal/status.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import type { ChangePage } from "../../ports/change-stream.ts"
import type { Delivery, Directory, Filter, Page, PageRequest, WorkerLease } from "../../ports/directory.ts"
import type { InstanceRow, NewMessage, Turn } from "../../ports/journal-store.ts"
import { refusedOr, takesFirst } from "../shared/first-event.ts"
import { fromCursor, toCursor } from "../shared/page-cursor.ts"
import { columnOf, isOldestFirst, wantedStatuses } from "../shared/query-words.ts"
import { withOffers } from "../shared/worker-offers.ts"
import type { MemoryInstance } from "./memory-database.ts"
import type { MemoryAccess } from "./memory-journal-store.ts"

export class MemoryDirectory implements Directory {
  readonly #access: MemoryAccess

  constructor(access: MemoryAccess) {
    this.#access = access
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    this.#access.enter()
    const deliveries = messages.map((message) => this.#access.database.deliver(message))
    this.#access.changed()
    return deliveries
  }

  async deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created"> {
    this.#access.enter()
    const { database } = this.#access
    if (!takesFirst(create, message)) {
      const delivery = database.deliver(message)
      this.#access.changed()
      return refusedOr(delivery)
    }
    const existed = database.instances.has(create.instance)
    const created = database.commit(create) === "committed"
    // If this call repeats one with an unknown outcome, the message was stored together with the creation.
    const delivery = existed && created ? "created" : database.deliver(message)
    this.#access.changed()
    return created ? "created" : delivery
  }

  async get(id: string): Promise<InstanceRow | undefined> {
    this.#access.enter()
    return this.#access.database.instances.get(id)?.row
  }

  async list(filter: Filter, page: PageRequest): Promise<Page<InstanceRow>> {
    this.#access.enter()
    const direction = isOldestFirst(page.order) ? 1 : -1
    let found = this.#matching(filter).toSorted((a, b) => direction * byCreation(a, b))
    if (page.cursor !== undefined) {
      const place = fromCursor(page.cursor)
      found = found.filter((instance) => direction * (instance.row.createdAt - place.createdAt || instance.key - place.key) > 0)
    }
    const items = found.slice(0, page.limit)
    const last = items.at(-1)
    const rows = { items: items.map(({ row }) => row) }
    if (last === undefined || found.length === items.length) return rows
    return { ...rows, cursor: toCursor({ createdAt: last.row.createdAt, key: last.key }) }
  }

  async count(filter: Filter, by: "status" | "workflow"): Promise<Record<string, number>> {
    this.#access.enter()
    const column = columnOf(by)
    const counts = new Map<string, number>()
    for (const { row } of this.#matching(filter)) counts.set(row[column], (counts.get(row[column]) ?? 0) + 1)
    return Object.fromEntries(counts)
  }

  async workers(): Promise<readonly WorkerLease[]> {
    this.#access.enter()
    const { leases, offers } = this.#access.database
    return [...leases].map(([worker, until]) => withOffers({ worker, until }, offers.get(worker)))
  }

  async remove(ids: readonly string[]): Promise<readonly string[]> {
    this.#access.enter()
    const removed = ids.filter((id) => {
      const instance = this.#access.database.instances.get(id)
      if (instance === undefined || !isTerminal(instance.row.status)) return false
      this.#access.database.remove(instance)
      return true
    })
    this.#access.changed()
    return removed
  }

  async changes(after: string | undefined, limit: number, instance?: string): Promise<ChangePage> {
    this.#access.enter()
    const { changes, instances } = this.#access.database
    return changes.read(after, limit, instance === undefined ? "all" : instances.get(instance))
  }

  async latestChange(): Promise<string> {
    this.#access.enter()
    return this.#access.database.changes.latest
  }

  #matching(filter: Filter): MemoryInstance[] {
    const wanted = wantedStatuses(filter)
    return [...this.#access.database.instances.values()].filter(({ row }) => matches(row, filter) && (wanted?.includes(row.status) ?? true))
  }
}

function byCreation(a: MemoryInstance, b: MemoryInstance): number {
  return a.row.createdAt - b.row.createdAt || a.key - b.key
}

function matches(row: InstanceRow, { workflow, version, tag, queue, since, until, idPrefix }: Filter): boolean {
  if (workflow !== undefined && row.workflow !== workflow) return false
  if (version !== undefined && row.version !== version) return false
  if (tag !== undefined && !row.tags.includes(tag)) return false
  if (queue !== undefined && (row.queue ?? defaultQueue) !== queue) return false
  if (since !== undefined && row.createdAt < since) return false
  if (until !== undefined && row.createdAt >= until) return false
  return idPrefix === undefined || row.id.startsWith(idPrefix)
}
