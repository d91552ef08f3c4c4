import type { InstanceDescription } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import { isHidden } from "../../core/values/redaction.ts"

/** What `instance.status()` answers. */
export type InstanceStatus = {
  /** What the instance is doing. `paused` with an `error` is a stalled instance, which needs a person. */
  status: "queued" | "running" | "paused" | "errored" | "terminated" | "complete" | "waiting" | "waitingForPause" | "rollingBack" | "unknown"
  /** What the code threw, or why the instance stalled. */
  error?: { name: string; message: string }
  /** What the code returned; null before. */
  output?: unknown
  /** Absent: nothing was undone. */
  rollback?: { outcome: "complete" | "failed"; error?: { name: string; message: string } }
}

/** What is shown in place of sensitive values. */
export const shownInstead = "[REDACTED]"

const names = {
  queued: "queued",
  running: "running",
  sleeping: "waiting",
  waiting: "waiting",
  paused: "paused",
  stalled: "paused",
  completed: "complete",
  failed: "errored",
  cancelled: "terminated",
  terminated: "terminated",
} as const satisfies Record<InstanceDescription["status"], InstanceStatus["status"]>

/** The words for what an instance is doing. */
export const statusNames = ["queued", "running", "paused", "errored", "terminated", "complete", "waiting", "waitingForPause", "rollingBack"] as const

/** The native statuses that are shown by this word; none for a word that stands for a phase. */
export function nativeStatusesOf(name: string): readonly InstanceDescription["status"][] {
  return (Object.keys(names) as InstanceDescription["status"][]).filter((status) => names[status] === name)
}

/** What the instance is doing, in one word. */
export function statusName({ status, phase }: Pick<InstanceDescription, "status" | "phase">): (typeof statusNames)[number] {
  return phase === "pausing" ? "waitingForPause" : phase === "rollingBack" ? "rollingBack" : names[status]
}

/** The native state of an instance in the words of Cloudflare Workflows. A stalled instance is `paused`, with an error that says what to do. */
export function instanceStatus(instance: InstanceDescription): InstanceStatus {
  const { status, result, error } = instance
  const hasError = status === "failed" || status === "stalled"
  return {
    status: statusName(instance),
    output: status === "completed" ? (result ?? null) : null,
    ...(hasError ? { error: shownError(error) } : undefined),
    ...rollbackOf(instance),
  }
}

function rollbackOf({ steps, notRolledBack, phase }: InstanceDescription): Pick<InstanceStatus, "rollback"> {
  if (phase === "rollingBack" || !steps.some(({ type }) => type === "rollback")) return {}
  if (notRolledBack === undefined) return { rollback: { outcome: "complete" } }
  const failed = steps.find(({ type, status }) => type === "rollback" && status === "failed")
  return { rollback: { outcome: "failed", ...(failed && { error: shownError(failed.error) }) } }
}

/** Name and message. An error of a step's attempts is the error that the last attempt threw. */
export function shownError(error: unknown): { name: string; message: string } {
  if (PerdureError.is(error, "STEP_FAILED") && error.cause !== undefined) return shownError(error.cause)
  if (isHidden(error)) return { name: "Error", message: shownInstead }
  if (typeof error !== "object" || error === null || !("message" in error)) return { name: "Error", message: String(error) }
  const { name = "Error", message } = error as Partial<Error>
  // Over RPC an error may lose its name: then its message begins with it.
  const marked = name === "NonRetryableError" ? undefined : /^NonRetryableError:?\s*(.*)$/s.exec(String(message))?.[1]
  return marked === undefined ? { name: String(name), message: String(message) } : { name: "NonRetryableError", message: marked }
}
