import { word } from "../../core/arguments/argument.ts"
import { statuses, type Status } from "../../core/journal/status.ts"

/**
 * The status of a workflow. `running` also stands for a workflow that waits, sleeps or is queued. `paused` and `stalled` need a person. A workflow that has
 * exceeded its timeout is `failed`, with an error of the code `INSTANCE_TIMEOUT`.
 */
export type WorkflowStatus = "running" | "paused" | "stalled" | "completed" | "failed" | "cancelled" | "terminated"

const byNative: Readonly<Record<Status, WorkflowStatus>> = {
  queued: "running",
  running: "running",
  sleeping: "running",
  waiting: "running",
  paused: "paused",
  stalled: "stalled",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  terminated: "terminated",
}

export function workflowStatus(status: Status): WorkflowStatus {
  return byNative[status]
}

const known = word([...new Set(Object.values(byNative))])

/** The native statuses of one status or of several. Throws `BAD_OPTION` for an unknown status. */
export function nativeStatuses(wanted: WorkflowStatus | readonly WorkflowStatus[]): readonly Status[] {
  const list: readonly WorkflowStatus[] = typeof wanted === "string" ? [wanted] : wanted
  for (const one of list) known(one, "status")
  return statuses.filter((status) => list.includes(byNative[status]))
}
