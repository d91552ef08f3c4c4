import { isTerminal } from "../../core/journal/status.ts"
import type { Directory, Page } from "../../ports/directory.ts"
import type { ObjectSchedule, ScheduleOrder } from "../../ports/cloudflare/object-schedule.ts"
import type { ScheduleChange, ScheduleRow, ScheduleStore } from "../../ports/schedule-store.ts"

interface SchedulingComponents {
  /** In the object's own database. */
  readonly local: ScheduleStore
  readonly tables: ObjectSchedule
  /** Of instances, which are elsewhere; those that are ordered count. */
  readonly get: Directory["get"]
  readonly now: () => number
  readonly onWritten: () => void
}

/**
 * The schedule of an object. Its row is here, under the fence of its revision; the instances that it starts begin elsewhere, by orders that are
 * written together with the row and carried out until they are done. An instance is known by its incarnation, so an order is carried out once.
 */
export class ObjectScheduleClient implements ScheduleStore {
  readonly #parts: SchedulingComponents

  constructor(parts: SchedulingComponents) {
    this.#parts = parts
  }

  async write({ row, input, creates = [], messages = [], ended = [], live = [] }: ScheduleChange): Promise<"written" | "lost"> {
    const { local, tables } = this.#parts
    for (const id of ended) if (await this.#isLive(id)) return "lost"
    for (const id of live) if (!(await this.#isLive(id))) return "lost"
    const orders: ScheduleOrder[] = [...creates.map((create) => ({ create: plain(create) })), ...messages.map((message) => ({ message }))]
    const outcome = await local.write({ row, ...(input === undefined ? undefined : { input }) })
    // Nothing comes between this and the row: the object writes both at once.
    if (outcome === "written" && orders.length > 0) tables.addOrders(orders)
    this.#parts.onWritten()
    return outcome
  }

  get(id: string): Promise<ScheduleRow | undefined> {
    return this.#parts.local.get(id)
  }

  input(id: string): Promise<string | undefined> {
    return this.#parts.local.input(id)
  }

  list(filter: { readonly workflow?: string }, page: { readonly limit: number; readonly after?: string }): Promise<Page<ScheduleRow>> {
    return this.#parts.local.list(filter, page)
  }

  /** Its own database does not know what became of the instance that a schedule waits for. */
  async due(workflows: readonly string[], limit: number): Promise<readonly ScheduleRow[]> {
    const now = this.#parts.now()
    const rows = await this.#parts.local.due(workflows, limit)
    const isDue = await Promise.all(rows.map(async ({ dueAt = Infinity, awaits }) => dueAt <= now || (awaits !== undefined && !(await this.#isLive(awaits)))))
    return rows.filter((_, at) => isDue[at])
  }

  nextDueAt(workflows: readonly string[]): Promise<number | undefined> {
    return this.#parts.local.nextDueAt(workflows)
  }

  async remove(id: string): Promise<boolean> {
    const { local, tables } = this.#parts
    const row = tables.row()
    const isRemoved = await local.remove(id)
    if (isRemoved && row) tables.removed({ id, incarnation: row.incarnation })
    this.#parts.onWritten()
    return isRemoved
  }

  async #isLive(id: string): Promise<boolean> {
    const row = await this.#parts.get(id)
    return row !== undefined && !isTerminal(row.status)
  }
}

/** Only data, as it is kept and sent. */
function plain(turn: NonNullable<ScheduleOrder["create"]>): NonNullable<ScheduleOrder["create"]> {
  const { position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags } = turn
  return { turn: turn.turn, position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags }
}
