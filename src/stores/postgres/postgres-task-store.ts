import type { ClaimedTask, ExpiredTasks, KeptClaim, QueueDepth, TaskClaim, TaskEnding, TaskRow, TaskStore, TaskWorkerInfo } from "../../ports/task-store.ts"
import { taskRowFrom, taskWorkerFrom } from "../shared/task-rows.ts"
import { fromText, isOdd, toText } from "../shared/unsafe-text.ts"
import type { Database, PgRow } from "./connection/database.ts"
import type { Notifier } from "./notifications/notifier.ts"
import { bytesMax } from "./notifications/pushed-messages.ts"
import type { PostgresComponents } from "./postgres-components.ts"
import { integer, list, optionalInteger, text } from "./reads/columns.ts"

/** Each method is one statement. */
export class PostgresTaskStore implements TaskStore {
  readonly #database: Database
  readonly #notifier: Notifier

  constructor({ database, notifier }: PostgresComponents) {
    this.#database = database
    this.#notifier = notifier
  }

  async claim({ worker, token, queues, activities, limit, leaseMs, rate }: TaskClaim): Promise<readonly ClaimedTask[]> {
    const rows = await this.#database.all(
      "task-claim",
      `SELECT * FROM ${this.#database.functions.claimTasks}($1, $2, $3, $4, $5, $6, $7, $8)`,
      toText(worker),
      toText(token),
      queues?.map(toText) ?? null,
      activities.map(toText),
      limit,
      leaseMs,
      rate?.max ?? null,
      rate?.perMs ?? null,
    )
    return rows.map(toTaskRow) as ClaimedTask[]
  }

  async keep(claims: readonly KeptClaim[], leaseMs: number): Promise<readonly ("kept" | "gone")[]> {
    if (claims.length === 0) return []
    const ids = claims.map(({ id }) => toText(id))
    const tokens = claims.map(({ token }) => toText(token))
    const rows = await this.#database.all(
      "task-keep",
      `SELECT kept FROM ${this.#database.functions.keepTasks}($1, $2, $3, $4, $5) AS kept`,
      ids,
      tokens,
      claims.map(({ heartbeat }) => heartbeat !== undefined),
      claims.map(({ heartbeat }) => (heartbeat?.details === undefined ? null : JSON.stringify(heartbeat.details))),
      leaseMs,
    )
    const kept = new Set(rows.map((row) => row["kept"]))
    return ids.map((id, at) => (kept.has(`${id} ${tokens[at]}`) ? "kept" : "gone"))
  }

  async finish(endings: readonly TaskEnding[]): Promise<readonly ("finished" | "gone")[]> {
    if (endings.length === 0) return []
    const channels = this.#notifier.deliveryChannels()
    const row = await this.#database.get(
      "task-finish",
      `SELECT ${this.#database.functions.finishTasks}($1, $2, $3, $4, $5, $6, $7, $8) AS instances`,
      endings.map(({ id }) => toText(id)),
      endings.map(({ token }) => toText(token)),
      endings.map(({ ending }) => plainJson(ending)),
      endings.map(({ completes }) => !completes),
      channels?.sender ?? null,
      channels?.channel ?? null,
      channels?.pushChannel ?? null,
      bytesMax,
    )
    const instances = list<string>(row, "instances") as readonly (string | null)[]
    if (channels === undefined) this.#notifier.messagesDelivered(new Set(instances.flatMap((id) => (id === null ? [] : fromText(id)))))
    return instances.map((id) => (id === null ? "gone" : "finished"))
  }

  async expire(limit: number): Promise<ExpiredTasks> {
    const row = await this.#database.get("task-expire", `SELECT * FROM ${this.#database.functions.expireTasks}($1)`, limit)
    const instances = list<string>(row, "instances").map(fromText)
    if (instances.length > 0) this.#notifier.messagesDelivered(new Set(instances))
    const nextAt = optionalInteger(row ?? {}, "next_at")
    return nextAt === undefined ? { instances } : { instances, nextAt }
  }

  async find(ids: readonly string[]): Promise<readonly TaskRow[]> {
    if (ids.length === 0) return []
    const rows = await this.#database.all("task-find", `SELECT * FROM ${this.#database.functions.findTasks}($1)`, ids.map(toText))
    return rows.map(toTaskRow)
  }

  async depths(): Promise<readonly QueueDepth[]> {
    const rows = await this.#database.unnamed(
      `SELECT t.queue, count(*) FILTER (WHERE t.token IS NULL) AS waiting, count(*) FILTER (WHERE t.token IS NOT NULL) AS claimed,
        min(t.created_at) FILTER (WHERE t.token IS NULL) AS oldest_at
      FROM ${this.#database.schema}.task t GROUP BY t.queue ORDER BY t.queue`,
    )
    return rows.map((row) => {
      const oldestAt = optionalInteger(row, "oldest_at")
      const depth = { queue: text(row, "queue"), waiting: integer(row, "waiting"), claimed: integer(row, "claimed") }
      return oldestAt === undefined ? depth : { ...depth, oldestAt }
    })
  }

  async announce({ worker, queues, activities }: TaskWorkerInfo, leaseMs: number): Promise<void> {
    const { schema: s, functions } = this.#database
    if (leaseMs === 0) return void (await this.#database.all("task-announce-end", `DELETE FROM ${s}.task_worker w WHERE w.worker = $1`, toText(worker)))
    await this.#database.all(
      "task-announce",
      // Rows of dead processes that another process is deleting are passed over. So no two processes wait for each other.
      `WITH dead AS (
        SELECT w.worker FROM ${s}.task_worker w WHERE w.until <= ${functions.nowMs}() AND w.worker <> $1 FOR UPDATE SKIP LOCKED
      ), forgotten AS (DELETE FROM ${s}.task_worker w USING dead WHERE w.worker = dead.worker)
      INSERT INTO ${s}.task_worker (worker, until, queues, activities) VALUES ($1, ${functions.nowMs}() + $2::bigint, $3, $4)
      ON CONFLICT (worker) DO UPDATE SET until = excluded.until, queues = excluded.queues, activities = excluded.activities`,
      toText(worker),
      leaseMs,
      queues === undefined ? null : JSON.stringify(queues),
      JSON.stringify(activities),
    )
  }

  async workers(): Promise<readonly TaskWorkerInfo[]> {
    const { schema: s, functions } = this.#database
    const rows = await this.#database.all(
      "task-workers",
      `SELECT w.worker, w.queues, w.activities FROM ${s}.task_worker w WHERE w.until > ${functions.nowMs}() ORDER BY w.worker`,
    )
    return rows.map(taskWorkerFrom)
  }
}

function toTaskRow(row: PgRow): TaskRow {
  const { details } = row
  const task = taskRowFrom({ ...row, details: null })
  return typeof details === "string" ? { ...task, details: JSON.parse(details) as string } : task
}

/** JSON text that is stored as it is: JSON can say every character in another way. */
function plainJson(json: string): string {
  return isOdd(json) ? JSON.stringify(JSON.parse(json)) : json
}
