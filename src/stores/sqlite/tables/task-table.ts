import type { NewTask, TaskRow } from "../../../ports/task-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import { fromText, textOrNull, toText } from "../../shared/unsafe-text.ts"
import { taskRowFrom } from "../../shared/task-rows.ts"
import { bytes, integer, optionalInteger } from "../driver/sql-columns.ts"
import { fromChunks, inlineTextMax, toChunks } from "../driver/text-chunks.ts"
import type { TaskTurn, TurnTasks } from "./turn-tasks.ts"

/** The columns that `row` needs, with the instance to which the task belongs. */
export const taskColumns = `t.seq, t.id, i.id AS instance, i.incarnation, t.step, t.attempt, t.activity, t.queue, t."key", t.created_at, t.timeout_ms, t.heartbeat_ms,
  t.start_by, t.close_by, t.sensitive, t.worker, t.token, t.claimed_at, t.heartbeat_at, t.lease_until, t.chunks, t.details, t.input`
export const taskTables = "perdure_task t CROSS JOIN perdure_instance i ON i.key = t.instance"

/** The rows of tasks, as turns write and end them. Callers that write are in a transaction. */
export class TaskTable implements TurnTasks {
  readonly #insert: SqlStatement
  readonly #insertChunk: SqlStatement
  readonly #find: SqlStatement
  readonly #remove: SqlStatement
  readonly #removeChunks: SqlStatement
  readonly #removeAll: SqlStatement
  readonly #removeAllChunks: SqlStatement
  readonly #readChunks: SqlStatement

  constructor(driver: SqlDriver) {
    this.#insert = driver.prepare(
      `INSERT INTO perdure_task (id, instance, step, attempt, activity, queue, "key", created_at, timeout_ms, heartbeat_ms, start_by, close_by, sensitive, details, input, chunks)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#insertChunk = driver.prepare(`INSERT INTO perdure_task_chunk (task, part, bytes) SELECT seq, ?, ? FROM perdure_task WHERE id = ?`)
    this.#find = driver.prepare(`SELECT seq, chunks FROM perdure_task WHERE id = ? AND instance = ?`)
    this.#remove = driver.prepare(`DELETE FROM perdure_task WHERE seq = ?`)
    this.#removeChunks = driver.prepare(`DELETE FROM perdure_task_chunk WHERE task = ?`)
    this.#removeAll = driver.prepare(`DELETE FROM perdure_task WHERE instance = ?`)
    this.#removeAllChunks = driver.prepare(
      `DELETE FROM perdure_task_chunk WHERE task IN (SELECT seq FROM perdure_task WHERE instance = ? AND chunks IS NOT NULL)`,
    )
    this.#readChunks = driver.prepare(`SELECT bytes FROM perdure_task_chunk WHERE task = ? ORDER BY part`)
  }

  add(instance: number, task: NewTask, { at }: Pick<TaskTurn, "at">): void {
    const { attempt, timeoutMs = null, heartbeatMs = null, startBy = null, closeBy = null } = task
    const id = toText(task.id)
    const input = toText(task.input)
    const chunks = input.length > inlineTextMax ? toChunks(input) : undefined
    this.#insert.run(
      ...[
        id,
        instance,
        toText(task.step),
        attempt,
        toText(task.activity),
        toText(task.queue),
        toText(task.key),
        at,
        timeoutMs,
        heartbeatMs,
        startBy,
        closeBy,
        task.sensitive ? 1 : null,
      ],
      ...[textOrNull(task.details), chunks === undefined ? input : "", chunks?.length ?? null],
    )
    for (const [part, chunk] of chunks?.entries() ?? []) this.#insertChunk.run(part, chunk, id)
  }

  /** Ends tasks of the instance. */
  end(instance: number, ids: readonly string[] | "all"): void {
    if (ids === "all") {
      this.#removeAllChunks.run(instance)
      this.#removeAll.run(instance)
      return
    }
    for (const id of ids) {
      const row = this.#find.get(toText(id), instance)
      if (row !== undefined) this.remove(row)
    }
  }

  /** `row`: has the columns `seq` and `chunks`. */
  remove(row: SqlRow): void {
    const seq = integer(row, "seq")
    if (row["chunks"] !== null) this.#removeChunks.run(seq)
    this.#remove.run(seq)
  }

  /** The task of a row with `taskColumns`. Undefined: parts are missing, because another process has ended the task between two reads. */
  whole(row: SqlRow): TaskRow | undefined {
    const chunks = optionalInteger(row, "chunks")
    if (chunks === undefined) return taskRowFrom(row)
    const parts = this.#readChunks.all(integer(row, "seq"))
    if (parts.length !== chunks) return undefined
    return { ...taskRowFrom(row), input: fromText(fromChunks(parts.map((part) => bytes(part, "bytes")))) }
  }
}
