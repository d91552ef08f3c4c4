import type { QueueDepth } from "../../../ports/task-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "../driver/sql-columns.ts"

export interface WantedTasks {
  /** Absent: tasks of any queue. */
  readonly queues: readonly string[] | undefined
  readonly activities: readonly string[]
  readonly limit: number
}

/**
 * Finds waiting tasks. The index has them by queue and activity, and in the order of writing within both. A search visits only the queues and activities that
 * have waiting tasks, so a claim costs the same whatever the number of tasks that it may not have.
 */
export class WaitingTasks {
  readonly #nextQueue: SqlStatement
  readonly #nextActivity: SqlStatement
  readonly #first: SqlStatement
  readonly #waiting: SqlStatement
  readonly #createdAt: SqlStatement
  readonly #claimed: SqlStatement

  constructor(driver: SqlDriver) {
    this.#nextQueue = driver.prepare(`SELECT queue FROM perdure_task WHERE token IS NULL AND queue > ? ORDER BY queue LIMIT 1`)
    this.#nextActivity = driver.prepare(`SELECT activity FROM perdure_task WHERE token IS NULL AND queue = ? AND activity > ? ORDER BY activity LIMIT 1`)
    this.#first = driver.prepare(
      `SELECT seq FROM perdure_task WHERE token IS NULL AND queue = ? AND activity = ? AND ifnull(expires_at, 9007199254740991) > ? ORDER BY seq LIMIT ?`,
    )
    this.#waiting = driver.prepare(`SELECT queue, count(*) AS count, min(seq) AS oldest FROM perdure_task WHERE token IS NULL AND queue >= '' GROUP BY queue`)
    this.#createdAt = driver.prepare(`SELECT created_at FROM perdure_task WHERE seq = ?`)
    this.#claimed = driver.prepare(`SELECT queue, count(*) AS count FROM perdure_task WHERE token IS NOT NULL AND queue >= '' GROUP BY queue`)
  }

  /** The numbers of the first tasks, in order. */
  first({ queues, activities, limit }: WantedTasks, now: number): readonly number[] {
    if (limit <= 0) return []
    const wanted = new Set(activities.map(toText))
    const found: number[] = []
    for (const queue of queues?.map(toText) ?? namesFrom("queue", (after) => this.#nextQueue.get(after))) {
      for (const activity of namesFrom("activity", (after) => this.#nextActivity.get(queue, after))) {
        if (wanted.has(activity)) found.push(...this.#first.all(queue, activity, now, limit).map((row) => integer(row, "seq")))
      }
    }
    return found.toSorted((a, b) => a - b).slice(0, limit)
  }

  depths(): readonly QueueDepth[] {
    const waiting = new Map(this.#waiting.all().map((row) => [String(row["queue"]), row]))
    const claimed = new Map(this.#claimed.all().map((row) => [String(row["queue"]), integer(row, "count")]))
    const queues = [...new Set([...waiting.keys(), ...claimed.keys()])].toSorted()
    return queues.map((queue) => {
      const row = waiting.get(queue)
      const depth = { queue: fromText(queue), waiting: row === undefined ? 0 : integer(row, "count"), claimed: claimed.get(queue) ?? 0 }
      const oldest = row === undefined ? undefined : this.#createdAt.get(integer(row, "oldest"))
      return oldest === undefined ? depth : { ...depth, oldestAt: integer(oldest, "created_at") }
    })
  }
}

/** The names in a column, as they are stored: one look-up for each name, however many rows have it. */
function* namesFrom(column: string, next: (after: string) => SqlRow | undefined): Iterable<string> {
  for (let row = next(""); row !== undefined;) {
    const name = toText(text(row, column))
    yield name
    row = next(name)
  }
}
