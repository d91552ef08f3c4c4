import { isTerminal } from "../../core/journal/status.ts"
import type { Directory, Page } from "../../ports/directory.ts"
import type { ObjectSchedule, ScheduleOrder } from "../../ports/cloudflare/object-schedule.ts"
import type { ScheduleChange, ScheduleRow, ScheduleStore } from "../../ports/schedule-store.ts"

interface ObjectScheduleStoreOptions {
  /** The schedules in the object's own database, which has one at most. */
  readonly local: ScheduleStore
  readonly tables: ObjectSchedule
  /** Reads an instance in its own object. An instance that was ordered counts as present. */
  readonly get: Directory["get"]
  readonly now: () => number
  readonly afterWrite: () => void
}

/**
 * The schedule of one object. Its row is in the object's database, fenced by its revision. The instances that it starts live in other objects: an
 * order for each is written together with the row, and is sent until the other object confirms it. An order names an incarnation, so it takes effect once.
 */
export class ObjectScheduleStore implements ScheduleStore {
  readonly #options: ObjectScheduleStoreOptions

  constructor(options: ObjectScheduleStoreOptions) {
    this.#options = options
  }

  async write({ row, input, creates = [], messages = [], ended = [], live = [] }: ScheduleChange): Promise<"written" | "lost"> {
    const { local, tables } = this.#options
    for (const id of ended) if (await this.#isLive(id)) return "lost"
    for (const id of live) if (!(await this.#isLive(id))) return "lost"
    const orders: ScheduleOrder[] = [...creates.map((create) => ({ create: plain(create) })), ...messages.map((message) => ({ message }))]
    const outcome = await local.write({ row, ...(input === undefined ? undefined : { input }) })
    // No await lies between this write and the write of the row, so both become durable together.
    if (outcome === "written" && orders.length > 0) tables.addOrders(orders)
    this.#options.afterWrite()
    return outcome
  }

  get(id: string): Promise<ScheduleRow | undefined> {
    return this.#options.local.get(id)
  }

  input(id: string): Promise<string | undefined> {
    return this.#options.local.input(id)
  }

  list(filter: { readonly workflow?: string }, page: { readonly limit: number; readonly after?: string }): Promise<Page<ScheduleRow>> {
    return this.#options.local.list(filter, page)
  }

  /** The database names a schedule that waits for an instance. Only the object of that instance tells whether it has ended. */
  async due(workflows: readonly string[], limit: number): Promise<readonly ScheduleRow[]> {
    const now = this.#options.now()
    const rows = await this.#options.local.due(workflows, limit)
    const isDue = await Promise.all(rows.map(async ({ dueAt = Infinity, awaits }) => dueAt <= now || (awaits !== undefined && !(await this.#isLive(awaits)))))
    return rows.filter((_, at) => isDue[at])
  }

  nextDueAt(workflows: readonly string[]): Promise<number | undefined> {
    return this.#options.local.nextDueAt(workflows)
  }

  async remove(id: string): Promise<boolean> {
    const { local, tables } = this.#options
    const row = tables.row()
    const isRemoved = await local.remove(id)
    if (isRemoved && row) tables.removed({ id, incarnation: row.incarnation })
    this.#options.afterWrite()
    return isRemoved
  }

  async #isLive(id: string): Promise<boolean> {
    const row = await this.#options.get(id)
    return row !== undefined && !isTerminal(row.status)
  }
}

/** The turn as plain data, which a table can hold and RPC can send. */
function plain(turn: NonNullable<ScheduleOrder["create"]>): NonNullable<ScheduleOrder["create"]> {
  const { position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags } = turn
  return { turn: turn.turn, position, count, run, at, entries, blobs, instance, incarnation, follows, create, state, tags }
}
