/** The statuses of an instance, as docs/instance-states.md draws them. */

/** All statuses. */
export const statuses = ["queued", "running", "sleeping", "waiting", "paused", "stalled", "completed", "failed", "cancelled", "terminated"] as const
/**
 * What an instance is doing, or how it ended. Not over: `queued` (its code has not begun), `running`, `sleeping`, `waiting`, `paused`, and `stalled` (a person has
 * to look at it). Over: `completed`, `failed`, `cancelled`, `terminated`.
 */
export type Status = (typeof statuses)[number]

export type TerminalStatus = "completed" | "failed" | "cancelled" | "terminated"

/** What an instance is in the middle of, beside its status. */
export type Phase = "pausing" | "cancelling" | "rollingBack"

export function isTerminal(status: Status): status is TerminalStatus {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "terminated"
}
