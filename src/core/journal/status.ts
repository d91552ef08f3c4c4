/** The statuses of an instance, as docs/instance-states.md draws them. */

/** All statuses. */
export const statuses = ["queued", "running", "sleeping", "waiting", "paused", "stalled", "completed", "failed", "cancelled", "terminated"] as const
/**
 * The status of an instance. It is live as `queued` (its code has not started), `running`, `sleeping`, `waiting`, `paused`, and `stalled` (a person has
 * to decide). It has ended as `completed`, `failed`, `cancelled`, `terminated`.
 */
export type Status = (typeof statuses)[number]

export type TerminalStatus = "completed" | "failed" | "cancelled" | "terminated"

/** A transition that is under way, beside the status. */
export type Phase = "pausing" | "cancelling" | "rollingBack"

export function isTerminal(status: Status): status is TerminalStatus {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "terminated"
}
