import { expiredEnding, withDetails } from "../../core/journal/task-ending.ts"
import type {
  NewTask,
  TaskClaim,
  ClaimedTask,
  KeptClaim,
  TaskEnding,
  ExpiredTasks,
  QueueDepth,
  TaskRow,
  TaskStore,
  TaskWorkerInfo,
  ClaimReference,
} from "../../ports/task-store.ts"
import { allowance } from "../shared/task-rate.ts"
import { expiryOf } from "../shared/task-expiry.ts"
import type { MemoryDatabase } from "./memory-database.ts"
import type { MemoryAccess } from "./memory-journal-store.ts"

interface MemoryTask {
  row: TaskRow
  readonly incarnation: string
  leaseUntil: number | undefined
}

/** The tasks of a memory database, in the order in which they were written. */
export class MemoryTasks {
  readonly byId = new Map<string, MemoryTask>()
  readonly workers = new Map<string, TaskWorkerInfo & { readonly until: number }>()
  /** How many tasks of a queue with a rate were claimed since when. */
  readonly rates = new Map<string, { since: number; claimed: number }>()

  add(tasks: readonly NewTask[], { instance, incarnation, at }: { readonly instance: string; readonly incarnation: string; readonly at: number }): void {
    for (const task of tasks) this.byId.set(task.id, { row: { ...task, instance, createdAt: at }, incarnation, leaseUntil: undefined })
  }

  end(ids: readonly string[] | "all", instance: string): void {
    for (const id of ids === "all" ? this.byId.keys() : ids) if (this.byId.get(id)?.row.instance === instance) this.byId.delete(id)
  }
}

export class MemoryTaskStore implements TaskStore {
  readonly #access: MemoryAccess
  readonly #database: MemoryDatabase
  readonly #tasks: MemoryTasks

  constructor(access: MemoryAccess) {
    this.#access = access
    this.#database = access.database
    this.#tasks = access.database.tasks
  }

  async claim({ worker, token, queues, activities, limit, leaseMs, rate }: TaskClaim): Promise<readonly ClaimedTask[]> {
    const now = this.#enter()
    const [queue = ""] = queues ?? []
    const allowed = rate ? allowance(rate, this.#tasks.rates.get(queue), now) : undefined
    const count = Math.min(limit, allowed?.left ?? Infinity)
    const isWanted = ({ row: task }: MemoryTask) =>
      task.claim === undefined && queues?.includes(task.queue) !== false && activities.includes(task.activity) && expiryOf(task, now).at > now
    const claimed = [...this.#tasks.byId.values()].filter(isWanted).slice(0, count)
    if (allowed) this.#tasks.rates.set(queue, { since: allowed.since, claimed: allowed.claimed + claimed.length })
    return claimed.map((task) => {
      const claim = { worker, token, claimedAt: now, heartbeatAt: now }
      const row = { ...task.row, claim }
      task.row = row
      task.leaseUntil = now + leaseMs
      return row
    })
  }

  async keep(claims: readonly KeptClaim[], leaseMs: number): Promise<readonly ("kept" | "gone")[]> {
    const now = this.#enter()
    return claims.map((kept) => {
      const task = this.#claimed(kept)
      if (!task?.row.claim) return "gone"
      task.leaseUntil = now + leaseMs
      if (!kept.heartbeat) return "kept"
      const details = kept.heartbeat.details === undefined ? undefined : { details: kept.heartbeat.details }
      task.row = { ...task.row, ...details, claim: { ...task.row.claim, heartbeatAt: now } }
      return "kept"
    })
  }

  async finish(endings: readonly TaskEnding[]): Promise<readonly ("finished" | "gone")[]> {
    this.#enter()
    const outcomes = endings.map((ending) => {
      const task = this.#claimed(ending)
      if (!task) return "gone" as const
      this.#end(task, ending.ending, ending.completes)
      return "finished" as const
    })
    this.#access.changed()
    return outcomes
  }

  async expire(limit: number): Promise<ExpiredTasks> {
    const now = this.#enter()
    const instances: string[] = []
    let nextAt = Infinity
    for (const task of this.#tasks.byId.values()) {
      const { at, reason } = expiryOf({ ...task.row, leaseUntil: task.leaseUntil }, now)
      if (at <= now && instances.length < limit) {
        this.#end(task, expiredEnding(reason), false)
        instances.push(task.row.instance)
      } else nextAt = Math.min(nextAt, at)
    }
    if (instances.length > 0) this.#access.changed()
    return { instances, ...(nextAt === Infinity ? undefined : { nextAt }) }
  }

  async find(ids: readonly string[]): Promise<readonly TaskRow[]> {
    this.#enter()
    return ids.flatMap((id) => this.#tasks.byId.get(id)?.row ?? [])
  }

  async depths(): Promise<readonly QueueDepth[]> {
    this.#enter()
    const depths = new Map<string, { queue: string; waiting: number; claimed: number; oldestAt?: number }>()
    for (const { row } of this.#tasks.byId.values()) {
      const depth = depths.get(row.queue) ?? { queue: row.queue, waiting: 0, claimed: 0 }
      depths.set(row.queue, depth)
      if (row.claim) depth.claimed++
      else depth.waiting++
      if (!row.claim) depth.oldestAt = Math.min(depth.oldestAt ?? Infinity, row.createdAt)
    }
    return [...depths.values()].toSorted((a, b) => (a.queue < b.queue ? -1 : 1))
  }

  async announce(worker: TaskWorkerInfo, leaseMs: number): Promise<void> {
    const now = this.#enter()
    if (leaseMs === 0) this.#tasks.workers.delete(worker.worker)
    else this.#tasks.workers.set(worker.worker, { ...worker, until: now + leaseMs })
  }

  async workers(): Promise<readonly TaskWorkerInfo[]> {
    const now = this.#enter()
    return [...this.#tasks.workers.values()].filter(({ until }) => until > now).map(({ until: _, ...worker }) => worker)
  }

  #enter(): number {
    this.#access.enter()
    return this.#access.now()
  }

  #claimed({ id, token }: ClaimReference): MemoryTask | undefined {
    const task = this.#tasks.byId.get(id)
    return task?.row.claim?.token === token ? task : undefined
  }

  #end({ row, incarnation }: MemoryTask, ending: string, completes: boolean): void {
    this.#tasks.byId.delete(row.id)
    const payload = completes ? ending : withDetails(ending, row.details)
    this.#database.deliver({ instance: row.instance, incarnation, kind: "activity", at: this.#access.now(), topic: row.step, payload, eventId: row.id })
  }
}
