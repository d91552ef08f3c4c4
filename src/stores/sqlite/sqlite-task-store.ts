import { expiredEnding, withDetails } from "../../core/journal/task-ending.ts"
import type { ClaimedTask, ExpiredTasks, KeptClaim, QueueDepth, TaskClaim, TaskEnding, TaskRow, TaskStore, TaskWorkerInfo } from "../../ports/task-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../ports/sql-driver.ts"
import { expiryOf } from "../shared/task-expiry.ts"
import { allowance, type RatePeriod } from "../shared/task-rate.ts"
import { taskRowFrom } from "../shared/task-rows.ts"
import { textOrNull, toText } from "../shared/unsafe-text.ts"
import { integer, optionalInteger, optionalText, text } from "./driver/sql-columns.ts"
import type { TaskQueueTables } from "./sqlite-components.ts"
import type { InboxTable } from "./tables/inbox-table.ts"
import { taskColumns, taskTables, type TaskTable } from "./tables/task-table.ts"
import { TaskWorkerTable } from "./tables/task-worker-table.ts"
import { WaitingTasks } from "./tables/waiting-tasks.ts"

/** Delivers the endings of tasks, in their transactions. In the object of a queue, the inboxes are in other objects. */
export type TaskInbox = Pick<InboxTable, "deliver">

export type TaskStoreTables = Pick<TaskQueueTables, "driver" | "now" | "tasks"> & { readonly inbox: TaskInbox }

/** Any process that has the file open may call these methods. Each writes in one short transaction, and none writes if it finds nothing to do. */
export class SqliteTaskStore implements TaskStore {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #wallNow: () => number
  readonly #inbox: TaskInbox
  readonly #tasks: TaskTable
  readonly #waiting: WaitingTasks
  readonly #workers: TaskWorkerTable
  readonly #get: SqlStatement
  readonly #find: SqlStatement
  readonly #claimed: SqlStatement
  readonly #claim: SqlStatement
  readonly #keep: SqlStatement
  readonly #expired: SqlStatement
  readonly #nextExpiry: SqlStatement
  readonly #rate: SqlStatement
  readonly #setRate: SqlStatement

  /** `wallNow`: the time that messages get. Other processes compare it with their clocks, so it must not be ahead after this clock was set back. */
  constructor({ driver, now, inbox, tasks }: TaskStoreTables, wallNow = now) {
    this.#driver = driver
    this.#now = now
    this.#wallNow = wallNow
    this.#inbox = inbox
    this.#tasks = tasks
    this.#waiting = new WaitingTasks(driver)
    this.#workers = new TaskWorkerTable(driver)
    this.#get = driver.prepare(`SELECT ${taskColumns} FROM ${taskTables} WHERE t.seq = ?`)
    this.#find = driver.prepare(`SELECT ${taskColumns} FROM ${taskTables} WHERE t.id = ?`)
    this.#claimed = driver.prepare(`SELECT ${taskColumns} FROM ${taskTables} WHERE t.id = ? AND t.token = ?`)
    this.#claim = driver.prepare(`UPDATE perdure_task SET worker = ?, token = ?, claimed_at = ?, heartbeat_at = ?, lease_until = ? WHERE seq = ?`)
    this.#keep = driver.prepare(
      `UPDATE perdure_task SET lease_until = ?, heartbeat_at = ifnull(?, heartbeat_at), details = ifnull(?, details) WHERE id = ? AND token = ?`,
    )
    this.#expired = driver.prepare(`SELECT ${taskColumns} FROM ${taskTables} WHERE t.expires_at <= ? ORDER BY t.expires_at LIMIT ?`)
    this.#nextExpiry = driver.prepare(`SELECT expires_at FROM perdure_task WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1`)
    this.#rate = driver.prepare(`SELECT since, claimed FROM perdure_task_rate WHERE queue = ?`)
    this.#setRate = driver.prepare(
      `INSERT INTO perdure_task_rate (queue, since, claimed) VALUES (?, ?, ?) ON CONFLICT (queue) DO UPDATE SET since = excluded.since, claimed = excluded.claimed`,
    )
  }

  async claim(request: TaskClaim): Promise<readonly ClaimedTask[]> {
    const now = this.#now()
    // Most claims find nothing, and must not cost a write transaction.
    if (this.#claimable({ ...request, limit: Math.min(request.limit, 1) }, now).seqs.length === 0) return []
    return this.#driver.transaction(() => {
      const { seqs, period } = this.#claimable(request, now)
      const [queue] = request.queues ?? []
      if (period && queue !== undefined) this.#setRate.run(toText(queue), period.since, period.claimed + seqs.length)
      return seqs.flatMap((seq) => this.#claimTask(seq, request, now) ?? [])
    })
  }

  #claimable({ queues, activities, limit, rate }: TaskClaim, now: number): { readonly seqs: readonly number[]; readonly period?: RatePeriod } {
    const [queue] = queues ?? []
    const allowed = rate && queue !== undefined ? allowance(rate, this.#periodOf(queue), now) : undefined
    const seqs = this.#waiting.first({ queues, activities, limit: Math.min(limit, allowed?.left ?? limit) }, now)
    return allowed ? { seqs, period: allowed } : { seqs }
  }

  #claimTask(seq: number, { worker, token, leaseMs }: TaskClaim, now: number): ClaimedTask | undefined {
    this.#claim.run(toText(worker), toText(token), now, now, now + leaseMs, seq)
    const row = this.#get.get(seq)
    return row === undefined ? undefined : (this.#tasks.whole(row) as ClaimedTask | undefined)
  }

  #periodOf(queue: string): RatePeriod | undefined {
    const row = this.#rate.get(toText(queue))
    return row === undefined ? undefined : { since: integer(row, "since"), claimed: integer(row, "claimed") }
  }

  async keep(claims: readonly KeptClaim[], leaseMs: number): Promise<readonly ("kept" | "gone")[]> {
    if (claims.length === 0) return []
    const now = this.#now()
    return this.#driver.transaction(() =>
      claims.map(({ id, token, heartbeat }) => {
        const values = [now + leaseMs, heartbeat === undefined ? null : now, textOrNull(heartbeat?.details)]
        return this.#keep.write(...values, toText(id), toText(token)) ? "kept" : "gone"
      }),
    )
  }

  async finish(endings: readonly TaskEnding[]): Promise<readonly ("finished" | "gone")[]> {
    if (endings.length === 0) return []
    return this.#driver.transaction(() =>
      endings.map(({ id, token, ending, completes }) => {
        const row = this.#claimed.get(toText(id), toText(token))
        if (row === undefined) return "gone"
        this.#end(row, completes ? ending : withDetails(ending, optionalText(row, "details")))
        return "finished"
      }),
    )
  }

  async expire(limit: number): Promise<ExpiredTasks> {
    const now = this.#now()
    const nextAt = this.nextExpiresAt()
    if (nextAt === undefined || nextAt > now) return expiredTasks([], nextAt)
    return this.#driver.transaction(() => {
      const rows = this.#expired.all(now, limit)
      for (const row of rows) {
        const times = { ...taskRowFrom(row), leaseUntil: optionalInteger(row, "lease_until") }
        this.#end(row, withDetails(expiredEnding(expiryOf(times, now).reason), optionalText(row, "details")))
      }
      return expiredTasks(
        rows.map((row) => text(row, "instance")),
        this.nextExpiresAt(),
      )
    })
  }

  /** When the next task will have to be ended. Undefined: no task has a limit of time. */
  nextExpiresAt(): number | undefined {
    const row = this.#nextExpiry.get()
    return row === undefined ? undefined : integer(row, "expires_at")
  }

  async find(ids: readonly string[]): Promise<readonly TaskRow[]> {
    return ids.flatMap((id) => {
      const row = this.#find.get(toText(id))
      return row === undefined ? [] : (this.#tasks.whole(row) ?? [])
    })
  }

  async depths(): Promise<readonly QueueDepth[]> {
    return this.#waiting.depths()
  }

  async announce(worker: TaskWorkerInfo, leaseMs: number): Promise<void> {
    const now = this.#now()
    this.#driver.transaction(() => this.#workers.announce(worker, leaseMs, now))
  }

  async workers(): Promise<readonly TaskWorkerInfo[]> {
    return this.#workers.known(this.#now())
  }

  /** Removes the row of a task, and delivers its ending. */
  #end(row: SqlRow, payload: string): void {
    this.#tasks.remove(row)
    const [instance, incarnation] = [text(row, "instance"), text(row, "incarnation")]
    const now = this.#wallNow()
    this.#inbox.deliver({ instance, incarnation, kind: "activity", at: now, topic: text(row, "step"), payload, eventId: text(row, "id") }, now)
  }
}

function expiredTasks(instances: readonly string[], nextAt: number | undefined): ExpiredTasks {
  return nextAt === undefined ? { instances } : { instances, nextAt }
}
