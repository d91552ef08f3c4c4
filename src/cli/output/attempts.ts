import type { HistoryEntry } from "../../client-api/client-api.ts"
import type { Attempt } from "./timeline.ts"

/** When each attempt began and ended, by step, for steps with more than one attempt. It is read from the entries of a run. */
export function attemptsOf(entries: readonly HistoryEntry[]): ReadonlyMap<string, readonly Attempt[]> {
  const steps = new Map<string, Attempt[]>()
  for (const { type, at, data } of entries) {
    const id = data["id"]
    if (typeof id !== "string") continue
    const attempts = steps.get(id) ?? []
    if (type === "step.started") steps.set(id, [...attempts.slice(0, -1), ...closed(attempts.at(-1), at), { from: at }])
    const open = attempts.at(-1)
    if (open && open.to === undefined && (type === "step.completed" || type === "step.failed"))
      steps.set(id, [...attempts.slice(0, -1), { from: open.from, to: at, ...(type === "step.failed" ? { failed: true } : undefined) }])
  }
  return new Map([...steps].filter(([, attempts]) => attempts.length > 1))
}

/** An attempt that a crash interrupted has no entry for its end, so it ends at `at`. */
function closed(attempt: Attempt | undefined, at: number): Attempt[] {
  if (attempt === undefined) return []
  return [attempt.to === undefined ? { ...attempt, to: at, failed: true } : attempt]
}
