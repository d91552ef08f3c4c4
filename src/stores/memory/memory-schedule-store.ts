import { isTerminal } from "../../core/journal/status.ts"
import type { Page } from "../../ports/directory.ts"
import type { ScheduleChange, ScheduleRow, ScheduleStore } from "../../ports/schedule-store.ts"
import type { MemoryDatabase } from "./memory-database.ts"
import type { MemoryAccess } from "./memory-journal-store.ts"

export interface MemorySchedule {
  readonly row: ScheduleRow
  readonly input: string
}

export class MemoryScheduleStore implements ScheduleStore {
  readonly #access: MemoryAccess
  readonly #database: MemoryDatabase

  constructor(access: MemoryAccess) {
    this.#access = access
    this.#database = access.database
  }

  async write({ row, input, creates = [], messages = [], ended = [], live = [] }: ScheduleChange): Promise<"written" | "lost"> {
    this.#access.enter()
    const before = this.#database.schedules.get(row.id)
    if (row.revision === 1 ? before !== undefined : !isNext(before?.row, row)) return "lost"
    if (ended.some((id) => this.#isLive(id)) || live.some((id) => !this.#isLive(id))) return "lost"
    if (creates.some(({ instance }) => this.#database.instances.has(instance))) return "lost"
    if (creates.some(({ create }) => !this.#database.flow.areUniqueKeysFree(create?.flow?.unique ?? []))) return "lost"
    for (const turn of creates) this.#database.commit(turn)
    for (const message of messages) this.#database.deliver(message)
    this.#database.schedules.set(row.id, { row, input: input ?? before?.input ?? "" })
    this.#access.changed()
    return "written"
  }

  async get(id: string): Promise<ScheduleRow | undefined> {
    this.#access.enter()
    return this.#database.schedules.get(id)?.row
  }

  async input(id: string): Promise<string | undefined> {
    this.#access.enter()
    return this.#database.schedules.get(id)?.input
  }

  async list({ workflow }: { readonly workflow?: string }, { limit, after }: { readonly limit: number; readonly after?: string }): Promise<Page<ScheduleRow>> {
    this.#access.enter()
    const found = this.#rows(({ row }) => (workflow === undefined || row.workflow === workflow) && (after === undefined || row.id > after))
    const items = found.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit)
    const last = items.at(-1)
    return { items, ...(last !== undefined && found.length > limit ? { cursor: last.id } : undefined) }
  }

  async due(workflows: readonly string[], limit: number): Promise<readonly ScheduleRow[]> {
    this.#access.enter()
    const now = this.#access.now()
    const wants = ({ dueAt, awaits }: ScheduleRow) => (dueAt !== undefined && dueAt <= now) || (awaits !== undefined && !this.#isLive(awaits))
    const found = this.#rows(({ row }) => workflows.includes(row.workflow) && wants(row))
    return found.toSorted((a, b) => (a.dueAt ?? Infinity) - (b.dueAt ?? Infinity)).slice(0, limit)
  }

  async nextDueAt(workflows: readonly string[]): Promise<number | undefined> {
    this.#access.enter()
    const next = Math.min(...this.#rows(({ row }) => workflows.includes(row.workflow)).map(({ dueAt }) => dueAt ?? Infinity))
    return next === Infinity ? undefined : next
  }

  async remove(id: string): Promise<boolean> {
    this.#access.enter()
    const removed = this.#database.schedules.delete(id)
    this.#access.changed()
    return removed
  }

  #rows(matches: (schedule: MemorySchedule) => boolean): ScheduleRow[] {
    return [...this.#database.schedules.values()].filter(matches).map(({ row }) => row)
  }

  #isLive(id: string): boolean {
    const instance = this.#database.instances.get(id)
    return instance !== undefined && !isTerminal(instance.row.status)
  }
}

function isNext(before: ScheduleRow | undefined, row: ScheduleRow): boolean {
  return before?.incarnation === row.incarnation && before.revision === row.revision - 1
}
