import type { TaskRow, TaskWorkerInfo } from "../../ports/task-store.ts"
import { integer, optionalInteger, optionalText, text, type UntypedRow } from "./columns.ts"

/** Reads the row of a task. SQL stores name the columns alike; `instance` is the id of the instance. */
export function taskRowFrom(row: UntypedRow): TaskRow {
  const details = optionalText(row, "details")
  const timeoutMs = optionalInteger(row, "timeout_ms")
  const heartbeatMs = optionalInteger(row, "heartbeat_ms")
  const startBy = optionalInteger(row, "start_by")
  const closeBy = optionalInteger(row, "close_by")
  const token = optionalText(row, "token")
  return {
    id: text(row, "id"),
    instance: text(row, "instance"),
    step: text(row, "step"),
    attempt: integer(row, "attempt"),
    activity: text(row, "activity"),
    queue: text(row, "queue"),
    key: text(row, "key"),
    input: text(row, "input"),
    createdAt: integer(row, "created_at"),
    ...(details === undefined ? undefined : { details }),
    // SQLite has a number, PostgreSQL a boolean.
    ...(row["sensitive"] === 1 || row["sensitive"] === true ? { sensitive: true } : undefined),
    ...(timeoutMs === undefined ? undefined : { timeoutMs }),
    ...(heartbeatMs === undefined ? undefined : { heartbeatMs }),
    ...(startBy === undefined ? undefined : { startBy }),
    ...(closeBy === undefined ? undefined : { closeBy }),
    ...(token === undefined
      ? undefined
      : { claim: { worker: text(row, "worker"), token, claimedAt: integer(row, "claimed_at"), heartbeatAt: integer(row, "heartbeat_at") } }),
  }
}

/** Reads the row of a process that claims tasks. */
export function taskWorkerFrom(row: UntypedRow): TaskWorkerInfo {
  const activities = JSON.parse(text(row, "activities")) as readonly string[]
  const queues = optionalText(row, "queues")
  return { worker: text(row, "worker"), activities, ...(queues === undefined ? undefined : { queues: JSON.parse(queues) as readonly string[] }) }
}
