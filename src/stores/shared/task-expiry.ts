import type { ExpiryReason } from "../../core/journal/task-ending.ts"
import type { TaskRow } from "../../ports/task-store.ts"

/** The fields of a task that decide when it expires. `leaseUntil`: when the claim ends. */
export type TaskTimes = Pick<TaskRow, "timeoutMs" | "heartbeatMs" | "startBy" | "closeBy" | "claim"> & { readonly leaseUntil?: number | undefined }

/** When a task expires, and why. Of several reasons that hold, the one that leaves the fewest further attempts comes first. */
export function expiryOf({ timeoutMs, heartbeatMs, startBy, closeBy, claim, leaseUntil }: TaskTimes, now: number): { at: number; reason: ExpiryReason } {
  const times: [ExpiryReason, number | undefined][] = claim
    ? [
        ["close", closeBy],
        ["attempt", timeoutMs === undefined ? undefined : claim.claimedAt + timeoutMs],
        ["lost", Math.min(leaseUntil ?? Infinity, heartbeatMs === undefined ? Infinity : claim.heartbeatAt + heartbeatMs)],
      ]
    : [
        ["close", closeBy],
        ["start", startBy],
      ]
  const at = Math.min(...times.map(([, time]) => time ?? Infinity))
  const [reason] = times.find(([, time]) => (time ?? Infinity) <= Math.max(now, at)) ?? ["lost"]
  return { at, reason }
}
