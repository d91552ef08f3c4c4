import { shownChildError } from "./ending-error.ts"
import type { EntryOf, Recorded } from "./journal.ts"
import { isRollback, parentOf, stepName } from "../workflow/step-id.ts"

/** A step of an instance, for people. */
export interface StepInfo {
  /** The id, unique in the run: the name, with a number from the second time on (`charge#2`), behind the enclosing step (`outer/inner`). */
  readonly id: string
  /** The name that the code gave the step. */
  readonly name: string
  /** What kind of step it is. */
  readonly type: "do" | "transaction" | "activity" | "sleep" | "wait" | "condition" | "child" | "rollback"
  /** The status of the step. */
  readonly status: "running" | "completed" | "failed" | "sleeping" | "waiting" | "retrying" | "timedOut" | "aborted" | "cancelled"
  /** How many attempts were started, including those of workers that died. */
  readonly attempts: number
  /** The result, if the step completed. */
  readonly result?: unknown
  /** The error of the last failed attempt, even if another attempt follows. */
  readonly error?: unknown
  /** The id of the enclosing step. */
  readonly parentId?: string
  /** When the first attempt started, in milliseconds since 1970. */
  readonly startedAt: number
  /** When the step ended. */
  readonly completedAt?: number
  /** When a sleep ends, a wait times out, or the next attempt starts. */
  readonly wakeAt?: number
  /** The type of the event that a wait is for. */
  readonly event?: string
  /** The id of the child instance. */
  readonly instance?: string
  /** The task queue in which the activity was put. Absent: it ran where the workflow ran. */
  readonly queue?: string
}

/** The steps of a run, in the order in which they were asked for. */
export function stepsOf(run: readonly Recorded[]): readonly StepInfo[] {
  const steps = new Map<string, StepInfo>()
  const received = new Map<number, () => unknown>()
  const change = (id: string, fields: Partial<StepInfo>) => {
    const step = steps.get(id)
    if (step) steps.set(id, { ...step, ...fields })
  }
  for (const { entry, at, position } of run) {
    switch (entry.type) {
      case "step.started":
        if (steps.has(entry.id)) change(entry.id, { status: "running", attempts: entry.attempt, ...(entry.queue === undefined ? {} : { queue: entry.queue }) })
        else steps.set(entry.id, { ...identity(entry.id), ...workOf(entry), status: "running", attempts: entry.attempt, startedAt: at })
        break
      case "sleep.started":
        steps.set(entry.id, { ...identity(entry.id), type: "sleep", status: "sleeping", attempts: 1, startedAt: at, wakeAt: entry.wakeAt })
        break
      case "wait.started":
        steps.set(entry.id, {
          ...identity(entry.id),
          type: entry.event === undefined ? "condition" : "wait",
          status: "waiting",
          attempts: 1,
          startedAt: at,
          ...(entry.event === undefined ? undefined : { event: entry.event }),
          ...(entry.timeoutAt === undefined ? undefined : { wakeAt: entry.timeoutAt }),
        })
        break
      case "step.completed":
        // The step that starts a child ends before the child does. But the child may have ended before the parent recorded that step's end.
        if (steps.get(entry.id)?.type !== "child") change(entry.id, { status: "completed", result: entry.value.shown(), completedAt: at })
        else if (steps.get(entry.id)?.completedAt === undefined) change(entry.id, { status: "waiting" })
        break
      case "child.ended":
        change(entry.id, {
          status: entry.status === "completed" ? "completed" : "failed",
          ...(entry.status === "completed" ? { result: entry.value.shown() } : { error: shownChildError(entry) }),
          completedAt: at,
        })
        break
      case "step.failed":
        change(entry.id, {
          error: entry.value.shown(),
          ...(entry.retryAt === undefined ? { status: "failed", completedAt: at } : { status: "retrying", wakeAt: entry.retryAt }),
        })
        break
      case "sleep.completed":
        change(entry.id, { status: "completed", completedAt: at })
        break
      case "event.received":
        received.set(position, () => entry.value.shown())
        break
      case "wait.completed":
        change(entry.id, { status: "completed", result: entry.from === undefined ? true : received.get(entry.from)?.(), completedAt: at })
        break
      case "wait.timedOut":
        change(entry.id, { status: "timedOut", completedAt: at })
        break
      case "ask.aborted":
        change(entry.id, { status: "aborted", completedAt: at })
        break
      case "cancel.requested":
        for (const step of steps.values())
          if (step.status === "sleeping" || step.status === "waiting" || step.status === "retrying") change(step.id, { status: "cancelled", completedAt: at })
        break
      case "terminate.requested":
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
      case "run.terminated":
        for (const step of steps.values()) if (step.completedAt === undefined) change(step.id, { status: "aborted", completedAt: at })
        break
      default:
    }
  }
  return [...steps.values()]
}

function workOf({ id, child, kind, queue }: EntryOf<"step.started">): Pick<StepInfo, "type" | "instance" | "queue"> {
  if (child) return { type: "child", instance: child.instance }
  return { type: isRollback(id) ? "rollback" : (kind ?? "do"), ...(queue === undefined ? undefined : { queue }) }
}

function identity(id: string): { id: string; name: string; parentId?: string } {
  const parentId = parentOf(id)
  return parentId === undefined ? { id, name: stepName(id) } : { id, name: stepName(id), parentId }
}
