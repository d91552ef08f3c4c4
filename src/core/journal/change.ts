import { shownChildCause, shownEnding } from "./ending-error.ts"
import { isErrorObject } from "../values/error-record.ts"
import { textOf } from "../values/error-text.ts"
import { isHidden } from "../values/redaction.ts"
import type { Entry, EntryOf, Recorded } from "./journal.ts"

/** The types of changes in the change stream. */
export const changeTypes = [
  "workflow.queued",
  "workflow.started",
  "workflow.paused",
  "workflow.resumed",
  "workflow.completed",
  "workflow.failed",
  "workflow.cancelled",
  "workflow.terminated",
  "workflow.restarted",
  "workflow.stalled",
  "step.started",
  "step.completed",
  "step.failed",
  "retry.scheduled",
  "retry.exhausted",
  "sleep.started",
  "sleep.completed",
  "event.received",
  "event.consumed",
  "event.timed_out",
  "child.started",
  "child.completed",
] as const

/** The type of a change. */
export type ChangeType = (typeof changeTypes)[number]

/** One durable change of an instance. */
export interface Change {
  /** The id of the change, made of incarnation and position. Every read of the change gives the same id. */
  readonly id: string
  /** The cursor that continues behind this change. */
  readonly cursor: string
  /** The type of the change. */
  readonly type: ChangeType
  /** The time of the change, in milliseconds since 1970. */
  readonly at: number
  /** The id of the instance. */
  readonly instance: string
  /** The name of the instance's workflow. */
  readonly workflow: string
  /** The version that the instance was started with. */
  readonly version: string
  /** The task queue of the instance; `"default"` if none was chosen. */
  readonly taskQueue: string
  /** The number of the run, from 1 on. */
  readonly run: number
  /** The position of the journal entry that the change describes. */
  readonly position: number
  /** Details of the change. */
  readonly data: ChangeData
}

/** The details of a change. They never contain inputs, results of steps, or payloads of events. */
export interface ChangeData {
  /** The id of the step. */
  readonly step?: string
  /** The number of the step's attempt, from 1 on. */
  readonly attempt?: number
  /** The task queue that the attempt of an activity waits in. Absent: it runs where its workflow runs. */
  readonly queue?: string
  /** The time since the attempt's start. Absent if the start lies too far back in the stream. */
  readonly durationMs?: number
  /** The status of the instance, or of the child. */
  readonly status?: string
  /** The error of a failure. */
  readonly error?: ChangeError
  /** The reason that a caller gave for a pause, cancel or terminate, or why the instance stalled. */
  readonly reason?: string
  /** The type of the event. */
  readonly event?: string
  /** The id that the sender gave the event. */
  readonly eventId?: string
  /** The id of the child. */
  readonly child?: string
  /** When a delayed instance starts. */
  readonly startAt?: number
  /** When a sleep ends. */
  readonly wakeAt?: number
  /** When the next attempt starts. */
  readonly retryAt?: number
}

/** An error, without its stack and its causes. */
export interface ChangeError {
  /** The name of its class. */
  readonly name: string
  /** Its message. */
  readonly message: string
  /** Its code, if it has one. */
  readonly code?: string
}

export interface NamedChange {
  readonly type: ChangeType
  readonly data: ChangeData
}

/** The change that an entry describes. Undefined: the change stream leaves the entry out. `before` is the entry before it in the same turn. */
export function changeOf(instance: string, { entry }: Recorded, before: Entry | undefined): NamedChange | undefined {
  switch (entry.type) {
    case "run.started":
      return started(entry, before)
    case "step.started":
      return entry.child
        ? { type: "child.started", data: { step: entry.id, child: entry.child.instance } }
        : { type: "step.started", data: { step: entry.id, attempt: entry.attempt, ...(entry.queue === undefined ? undefined : { queue: entry.queue }) } }
    case "step.completed":
      return { type: "step.completed", data: { step: entry.id } }
    case "step.failed":
      return failed(entry)
    case "sleep.started":
      return { type: "sleep.started", data: { step: entry.id, wakeAt: entry.wakeAt } }
    case "sleep.completed":
      return { type: "sleep.completed", data: { step: entry.id } }
    case "event.received":
      return { type: "event.received", data: { event: entry.event, ...(entry.eventId === undefined ? undefined : { eventId: entry.eventId }) } }
    case "event.handled":
      return { type: "event.consumed", data: { event: entry.event } }
    case "wait.completed":
      return { type: "event.consumed", data: { step: entry.id } }
    case "wait.timedOut":
      return { type: "event.timed_out", data: { step: entry.id } }
    case "child.ended":
      return childEnded(entry)
    case "paused":
      return { type: "workflow.paused", data: { status: "paused", ...because(entry.reason) } }
    case "resumed":
      return { type: "workflow.resumed", data: {} }
    case "stalled":
      return { type: "workflow.stalled", data: { status: "stalled", reason: entry.message, error: changeError(shownEnding(instance, entry)) } }
    case "run.completed":
      return { type: "workflow.completed", data: { status: "completed" } }
    case "run.failed":
      return { type: "workflow.failed", data: { status: "failed", error: changeError(shownEnding(instance, entry)) } }
    case "run.cancelled":
      return { type: "workflow.cancelled", data: { status: "cancelled", ...because(entry.reason) } }
    case "run.terminated":
      return { type: "workflow.terminated", data: { status: "terminated", ...because(entry.reason) } }
    default:
      return undefined
  }
}

function started({ run, startAt }: EntryOf<"run.started">, before: Entry | undefined): NamedChange {
  if (run > 1) return { type: before?.type === "run.continued" ? "workflow.started" : "workflow.restarted", data: {} }
  return startAt === undefined ? { type: "workflow.started", data: {} } : { type: "workflow.queued", data: { status: "queued", startAt } }
}

/** The change for a failed attempt: another attempt follows, the last of several has failed, or the only one has failed. */
function failed({ id, attempt, value, retryAt }: EntryOf<"step.failed">): NamedChange {
  const data = { step: id, attempt, error: changeError(value.shown()) }
  if (retryAt !== undefined) return { type: "retry.scheduled", data: { ...data, retryAt } }
  return { type: attempt > 1 ? "retry.exhausted" : "step.failed", data }
}

function childEnded(entry: EntryOf<"child.ended">): NamedChange {
  const { id, instance, status, reason } = entry
  const error = status === "failed" ? { error: changeError(shownChildCause(entry)) } : undefined
  return { type: "child.completed", data: { step: id, child: instance, status, ...error, ...because(reason) } }
}

function because(reason: string | undefined): { reason?: string } {
  return reason === undefined ? {} : { reason }
}

function changeError(error: unknown): ChangeError {
  if (isHidden(error)) return { name: "Error", message: error.$perdure }
  if (typeof error !== "object" || error === null || !isErrorObject(error)) return { name: "Error", message: textOf(error) }
  const { name, message } = error
  return { name, message, ...("code" in error && typeof error.code === "string" ? { code: error.code } : undefined) }
}
