/** The statuses of an instance, as docs/instance-states.md draws them. */

export const statuses = ["queued", "running", "sleeping", "waiting", "paused", "stalled", "completed", "failed", "cancelled", "terminated"] as const
export type Status = (typeof statuses)[number]

export type TerminalStatus = "completed" | "failed" | "cancelled" | "terminated"

/** What an instance is in the middle of, beside its status. */
export type Phase = "pausing" | "cancelling" | "rollingBack"

export function isTerminal(status: Status): status is TerminalStatus {
  return status === "completed" || status === "failed" || status === "cancelled" || status === "terminated"
}
