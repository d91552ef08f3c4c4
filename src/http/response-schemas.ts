import { statuses } from "../core/journal/status.ts"
import type { StepInfo } from "../core/journal/step-info.ts"
import type { ControlResult, HistoryEntry, InstanceDescription, InstanceSummary, Why } from "../client-api/client-api.ts"
import type { ScheduleDescription, ScheduleSummary } from "../client-api/schedule-client.ts"
import type { ClaimedActivity, QueueInfo } from "../client-api/task-control.ts"
import { anything, boolean, either, integer, list, nothing, number, object, oneOf, optional, record, type Schema, string } from "./schema.ts"

/** The documents of the API. Two words differ from those of the engine: a workflow is a `type`, and an input a `payload`. */

/** The fields of a document. A new field of the engine does not compile until it is described here. */
type Fields<T> = Record<
  Exclude<keyof T, "workflow" | "input"> | ("workflow" extends keyof T ? "type" : never) | ("input" extends keyof T ? "payload" : never),
  Schema<unknown>
>

export const status = oneOf(statuses)
const phase = oneOf(["pausing", "cancelling", "rollingBack"])
const instantMs = integer({ description: "milliseconds since 1970" })
export const instant = either([number(), string({ format: "date-time" })], "milliseconds since 1970, or an ISO 8601 time")
export const duration = either([number({ minimum: 0 }), string()], "milliseconds, or a number with a unit: 30s, 5m, 24h")

export const summaryFields = {
  id: string(),
  type: string(),
  version: string(),
  run: integer(),
  status,
  phase: optional(phase),
  queue: string(),
  tags: list(string()),
  memo: optional(record(anything())),
  createdAt: instantMs,
  updatedAt: instantMs,
} satisfies Fields<InstanceSummary>
export const summary = object(summaryFields, "InstanceSummary")

const step = object(
  {
    id: string(),
    name: string(),
    type: oneOf(["do", "transaction", "activity", "sleep", "wait", "condition", "child", "rollback"]),
    status: oneOf(["running", "completed", "failed", "sleeping", "waiting", "retrying", "timedOut", "aborted", "cancelled"]),
    attempts: integer(),
    result: optional(anything()),
    error: optional(anything()),
    parentId: optional(string()),
    startedAt: instantMs,
    completedAt: optional(instantMs),
    wakeAt: optional(instantMs),
    event: optional(string()),
    instance: optional(string()),
    queue: optional(string()),
  } satisfies Fields<StepInfo>,
  "Step",
)

export const descriptionFields = {
  ...summaryFields,
  incarnation: string(),
  attempt: integer(),
  payload: optional(anything()),
  result: optional(anything()),
  error: optional(anything()),
  parentId: optional(string()),
  schedule: optional(object({ id: string(), scheduledAt: instantMs })),
  retention: optional(object({ completed: optional(integer()), failed: optional(integer()) })),
  notRolledBack: optional(list(string())),
  bufferedEvents: optional(list(object({ type: string(), count: integer() }))),
  steps: list(step),
} satisfies Fields<InstanceDescription>
export const description = object(descriptionFields, "Instance")

export const control = object(
  {
    id: string(),
    status,
    phase: optional(phase),
    accepted: optional(boolean({ description: "false: nothing changed, and `reason` says why" })),
    reason: optional(string()),
  },
  "ControlResult",
)

const error = object({ code: string(), message: string(), details: optional(anything()) })
export const errorBody = object({ error, status: optional(status), failure: optional(anything()) }, "Error")
export const started = object({ id: string(), type: string(), status }, "StartedInstance")
export const batchResult = object({ id: string(), created: boolean(), error: optional(error) }, "BatchResult")

export const historyEntry = object(
  { position: integer(), run: integer(), at: instantMs, type: string(), data: record(anything()) } satisfies Fields<HistoryEntry>,
  "HistoryEntry",
)
export const why = object({ status, because: list(string()), next: optional(object({ what: string(), at: instantMs })) } satisfies Fields<Why>, "Why")

const scheduleFields = {
  id: string(),
  type: string(),
  times: string(),
  overlap: string(),
  status: oneOf(["active", "paused", "ended"]),
  nextAt: optional(instantMs),
  createdAt: instantMs,
  updatedAt: instantMs,
} satisfies Fields<ScheduleSummary>
export const scheduleSummary = object(scheduleFields, "ScheduleSummary")
const scheduled = object({ id: string(), scheduledAt: instantMs, startedAt: instantMs, by: optional(oneOf(["trigger", "backfill"])), status: optional(status) })
export const scheduleDescription = object(
  {
    ...scheduleFields,
    payload: optional(anything()),
    cron: optional(string()),
    timeZone: optional(string()),
    everyMs: optional(integer()),
    catchUpMs: optional(integer()),
    timeoutMs: optional(integer()),
    taskQueue: optional(string()),
    tags: list(string()),
    startAt: optional(instantMs),
    endAt: optional(instantMs),
    paused: optional(object({ at: instantMs, reason: optional(string()) })),
    nextTimes: list(instantMs),
    lastFiring: optional(scheduled),
    recent: list(scheduled),
    waiting: list(instantMs),
    counts: object({ started: integer(), skipped: integer(), missed: integer() }),
    unfired: list(object({ outcome: oneOf(["skipped", "missed"]), from: instantMs, to: instantMs, count: integer(), reason: string() })),
    because: list(string()),
  } satisfies Fields<ScheduleDescription>,
  "Schedule",
)

const limit = either([number(), oneOf(["Infinity"])])
const rate = { limit, perMs: integer() }
const concurrency = list(object({ name: optional(string()), limit, declared: optional(limit) }))
export const limitReport = object({ type: string(), concurrency, rateLimit: optional(object({ ...rate, declared: optional(object(rate)) })) }, "LimitReport")
export const limitSettings = object({
  concurrency: optional(
    either(
      [limit, list(either([limit, nothing()]), { maxItems: 100 }), record(limit)],
      "several limits: by name, or as a list, in which null leaves a limit as it is",
    ),
  ),
  rateLimit: optional(object({ limit, per: duration })),
})

export const queueInfo = object(
  {
    queue: string(),
    waiting: integer(),
    claimed: integer(),
    oldestAt: optional(instantMs),
    workers: list(object({ worker: string(), activities: list(string()) })),
  } satisfies Fields<QueueInfo>,
  "Queue",
)
export const claimedActivity = object(
  {
    id: string(),
    token: string(),
    activity: string(),
    queue: string(),
    attempt: integer(),
    input: optional(anything()),
    lastHeartbeat: optional(anything()),
    instance: string(),
    step: string(),
    idempotencyKey: string(),
    leaseMs: integer(),
    timeoutMs: optional(integer()),
    heartbeatTimeoutMs: optional(integer()),
  } satisfies Record<keyof ClaimedActivity, Schema<unknown>>,
  "Task",
)

export const summaryOf = ({ workflow, ...rest }: InstanceSummary) => ({ type: workflow, ...rest })

export function descriptionOf({ workflow, input, ...rest }: InstanceDescription): Record<string, unknown> {
  return input === undefined ? { type: workflow, ...rest } : { type: workflow, ...rest, payload: input }
}

export const scheduleSummaryOf = ({ workflow, ...rest }: ScheduleSummary) => ({ type: workflow, ...rest })

export function scheduleOf({ workflow, input, ...rest }: ScheduleDescription): Record<string, unknown> {
  return input === undefined ? { type: workflow, ...rest } : { type: workflow, ...rest, payload: input }
}

export function controlOf({ accepted, ...rest }: ControlResult): Record<string, unknown> {
  return accepted ? rest : { ...rest, accepted }
}
