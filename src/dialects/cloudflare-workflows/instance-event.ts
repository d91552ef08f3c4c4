import type { HistoryEntry } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import { isRollback, stepName } from "../../core/workflow/step-id.ts"
import { isHidden } from "../../core/values/redaction.ts"
import { shownError, shownInstead } from "./instance-status.ts"
import { revivedStream } from "./stream-output.ts"

/** One event of an instance, as `subscribe` gives it. */
export type WorkflowInstanceEvent = EventPlace & EventBody

/** The types of events. */
export type WorkflowInstanceEventType = EventBody["type"]

/** All types of events. */
const eventTypes: ReadonlySet<unknown> = new Set<WorkflowInstanceEventType>([
  ...(["workflow_queued", "workflow_started", "workflow_running", "workflow_paused", "workflow_waiting_for_pause", "workflow_waiting"] as const),
  ...(["workflow_completed", "workflow_errored", "workflow_terminated", "step_started", "step_completed", "step_errored"] as const),
  ...(["attempt_started", "attempt_completed", "attempt_errored", "sleep_started", "sleep_completed"] as const),
  ...(["wait_started", "wait_completed", "wait_timed_out", "rollback_started", "rollback_completed", "rollback_errored"] as const),
  ...(["rollback_step_started", "rollback_step_completed", "rollback_step_errored"] as const),
  ...(["rollback_attempt_started", "rollback_attempt_completed", "rollback_attempt_errored"] as const),
])

export function isEventType(value: unknown): value is WorkflowInstanceEventType {
  return eventTypes.has(value)
}

interface EventPlace {
  /** The id of the instance. */
  instanceId: string
  /** Grows from event to event. It is the `cursor` of a subscription that goes on after this event. */
  eventId: number
  /** Milliseconds since 1970. */
  timestamp: number
}

type EventBody =
  | Happened<"workflow_queued" | "workflow_running" | "workflow_paused" | "workflow_waiting_for_pause" | "workflow_waiting" | "workflow_terminated">
  | (Happened<"workflow_started"> & WithParams)
  | (Happened<"workflow_completed"> & WithOutput)
  | (Happened<"workflow_errored"> & WithError)
  | (Happened<"step_started" | "step_errored" | "rollback_step_started" | "rollback_step_completed"> & OfStep)
  | (Happened<"step_completed"> & OfStep & WithOutput)
  | (Happened<"rollback_step_errored"> & OfStep & WithError)
  | (Happened<"attempt_started" | "attempt_completed" | "rollback_attempt_started" | "rollback_attempt_completed"> & OfAttempt)
  | (Happened<"attempt_errored" | "rollback_attempt_errored"> & OfAttempt & WithError & BeforeRetry)
  | (Happened<"sleep_started"> & OfStep & ForTime)
  | (Happened<"wait_started"> & OfStep & ForEvent)
  | (Happened<"sleep_completed" | "wait_completed" | "wait_timed_out"> & OfStep)
  | Happened<"rollback_started" | "rollback_completed" | "rollback_errored">

interface Happened<Type extends string> {
  /** What happened. */
  type: Type
}

interface OfStep {
  /** The name of the step and its count: `charge-1`. */
  stepName: string
}

interface OfAttempt extends OfStep {
  /** Counts from 1. */
  attempt: number
}

interface BeforeRetry {
  /** Milliseconds before the next attempt. Absent: there is none. */
  retryDelayMs?: number
}

interface WithParams {
  /** What the instance was created with. */
  params?: unknown
}

interface WithOutput {
  /** What the code returned; `"[REDACTED]"` where it is sensitive. */
  output?: unknown
}

interface WithError {
  /** What the code threw. */
  error: ShownError
}

interface ForTime {
  /** How long the sleep takes. */
  durationMs: number
}

interface ForEvent {
  /** The type of the event that the step waits for. */
  eventType: string
}

interface ShownError {
  name: string
  message: string
}

/** One entry of the journal gives at most so many events. */
const eventsPerEntryMax = 8

/**
 * Makes the events of an instance out of the entries of its journal, which come in order. An event's id is the position of its entry times eight, plus
 * its place among the events of that entry: so ids grow, and stay what they are after a restart.
 */
export class InstanceEvents {
  readonly #instanceId: string
  readonly #run: number
  /** The label `<name>-<count>` of each step. `do`, `sleep` and `waitForEvent` count on their own. */
  readonly #labels = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  readonly #attempts = new Map<string, number>()
  /** Attempts that have begun and not ended. */
  readonly #openAttempts = new Set<string>()
  #hasStarted = false
  /** The instance pauses when its running attempts have ended. */
  #isPausing = false
  #isRollingBack = false
  #hasFailedRollback = false

  /** `run` is the current run of the instance. */
  constructor(instanceId: string, run: number) {
    this.#instanceId = instanceId
    this.#run = run
  }

  eventsOf(entry: HistoryEntry): readonly WorkflowInstanceEvent[] {
    const { position, at } = entry
    return this.#bodies(entry).map((body, index) => ({
      instanceId: this.#instanceId,
      eventId: position * eventsPerEntryMax + index,
      timestamp: at,
      ...body,
    }))
  }

  #bodies({ type, data, at, run }: HistoryEntry): readonly EventBody[] {
    const id = typeof data["id"] === "string" ? data["id"] : ""
    switch (type) {
      case "run.started":
        return this.#started(run, data["value"])
      case "step.started":
        return data["child"] === undefined ? this.#attemptStarted(id, Number(data["attempt"])) : []
      case "step.completed":
        return this.#labels.has(id) ? [...this.#stepCompleted(id, data["value"]), ...this.#pauseEnd()] : []
      case "step.failed":
        return this.#labels.has(id) ? [...this.#attemptFailed(id, data, at), ...this.#pauseEnd()] : []
      case "sleep.started":
        return [{ type: "sleep_started", stepName: this.#label("sleep", id), durationMs: Number(data["wakeAt"]) - at }]
      case "sleep.completed":
        return [{ type: "sleep_completed", stepName: this.#label("sleep", id) }]
      case "wait.started":
        return [{ type: "wait_started", stepName: this.#label("wait", id), eventType: String(data["event"]) }]
      case "wait.completed":
        return [{ type: "wait_completed", stepName: this.#label("wait", id) }]
      case "wait.timedOut":
        return [{ type: "wait_timed_out", stepName: this.#label("wait", id) }]
      case "paused":
        this.#isPausing = true
        return [{ type: "workflow_waiting_for_pause" }, ...this.#pauseEnd()]
      case "resumed":
        this.#isPausing = false
        return [{ type: "workflow_running" }]
      case "run.completed":
        return [{ type: "workflow_completed", output: shownValue(data["value"]) }]
      case "run.failed":
        return [...this.#rollbackEnd(), { type: "workflow_errored", error: shownError(data["value"]) }]
      case "run.cancelled":
      case "run.terminated":
        return [...this.#rollbackEnd(), { type: "workflow_terminated" }]
      default:
        return []
    }
  }

  /** A restart from a step goes on with the entries that it keeps. They come first, after the start of the first run. */
  #started(run: number, params: unknown): readonly EventBody[] {
    const begun: readonly EventBody[] = this.#hasStarted ? [] : [{ type: "workflow_queued" }, { type: "workflow_started", params: shownValue(params) }]
    this.#hasStarted = true
    return run === this.#run ? [...begun, { type: "workflow_running" }] : begun
  }

  #pauseEnd(): readonly EventBody[] {
    if (!this.#isPausing || this.#openAttempts.size > 0) return []
    this.#isPausing = false
    return [{ type: "workflow_paused" }]
  }

  #attemptStarted(id: string, attempt: number): readonly EventBody[] {
    const isUndoing = isRollback(id)
    const prefix = isUndoing ? "rollback_" : ""
    const isFirst = !this.#labels.has(id)
    const label = this.#label("do", id)
    const bodies: EventBody[] = []
    if (isUndoing && !this.#isRollingBack) bodies.push({ type: "rollback_started" })
    this.#isRollingBack ||= isUndoing
    if (isFirst) bodies.push({ type: `${prefix}step_started`, stepName: label })
    else if (this.#openAttempts.has(id)) bodies.push(interrupted(prefix, label, attempt - 1))
    this.#attempts.set(id, attempt)
    this.#openAttempts.add(id)
    bodies.push({ type: `${prefix}attempt_started`, stepName: label, attempt })
    return bodies
  }

  #stepCompleted(id: string, value: unknown): readonly EventBody[] {
    const label = this.#label("do", id)
    const attempt = this.#attempts.get(id) ?? 1
    this.#openAttempts.delete(id)
    if (isRollback(id))
      return [
        { type: "rollback_attempt_completed", stepName: label, attempt },
        { type: "rollback_step_completed", stepName: label },
      ]
    return [
      { type: "attempt_completed", stepName: label, attempt },
      { type: "step_completed", stepName: label, ...(value === undefined ? undefined : { output: revivedStream(shownValue(value)) }) },
    ]
  }

  #attemptFailed(id: string, { attempt, value, retryAt }: HistoryEntry["data"], at: number): readonly EventBody[] {
    const label = this.#label("do", id)
    const error = attemptError(value)
    const prefix = isRollback(id) ? "rollback_" : ""
    this.#openAttempts.delete(id)
    const failed = { type: `${prefix}attempt_errored`, stepName: label, attempt: Number(attempt), error } as EventBody
    if (retryAt !== undefined) return [{ ...failed, retryDelayMs: Number(retryAt) - at } as EventBody]
    if (!isRollback(id)) return [failed, { type: "step_errored", stepName: label }]
    this.#hasFailedRollback = true
    return [failed, { type: "rollback_step_errored", stepName: label, error }]
  }

  #rollbackEnd(): readonly EventBody[] {
    if (!this.#isRollingBack) return []
    return [{ type: this.#hasFailedRollback ? "rollback_errored" : "rollback_completed" }]
  }

  #label(kind: string, id: string): string {
    const known = this.#labels.get(id)
    if (known !== undefined) return known
    const undone = isRollback(id) ? this.#labels.get(id.slice(0, id.lastIndexOf("#"))) : undefined
    const label = undone ?? this.#nextLabel(kind, stepName(id))
    this.#labels.set(id, label)
    return label
  }

  #nextLabel(kind: string, name: string): string {
    const key = `${kind} ${name}`
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    return `${name}-${count}`
  }
}

/** The worker died in the middle of the attempt. */
function interrupted(prefix: string, stepLabel: string, attempt: number): EventBody {
  const error = { name: "WorkflowInternalError", message: "Attempt failed due to internal workflows error" }
  return { type: `${prefix}attempt_errored`, stepName: stepLabel, attempt, error } as EventBody
}

/** The error of an attempt, as the code of the workflow sees it. */
export function attemptError(value: unknown): ShownError {
  if (value instanceof Error && value.name === "NonRetryableDelayError" && value.cause !== undefined) return shownError(value.cause)
  if (!PerdureError.is(value, "STEP_TIMEOUT")) return shownError(value)
  return { name: "WorkflowTimeoutError", message: `Execution timed out after ${String(value.details["timeoutMs"])}ms` }
}

function shownValue(value: unknown): unknown {
  return isHidden(value) ? shownInstead : value
}
