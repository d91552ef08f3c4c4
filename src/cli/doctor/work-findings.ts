import { formatDuration } from "../../core/time/duration.ts"
import { type Finding, ok, warn } from "./finding.ts"

/** An instance that is due for longer than this has been forgotten by all workers. */
export const overdueMs = 60_000
/** How many ids of a list are shown. */
export const shownMax = 5

export function stalledFinding(count: number, ids: readonly string[]): Finding {
  if (count === 0) return ok("stalled", "no instance is stalled")
  return warn("stalled", `${count} stalled: ${ids.join(", ")}${count > ids.length ? " …" : ""}`, "perdure why <id> says what each needs")
}

/** Instances that are due for a while, and that no worker claims. */
export function overdueFinding(count: number, lateMs: number, id: string): Finding {
  if (count === 0) return ok("overdue", "nothing is overdue")
  return warn(
    "overdue",
    `${count} due and not taken, for up to ${formatDuration(lateMs)}; such as ${id}`,
    "perdure why <id>: no worker is running, or none has the version or serves the task queue",
  )
}
