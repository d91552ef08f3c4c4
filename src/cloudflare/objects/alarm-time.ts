import type { Logger } from "../../ports/host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** The platform refuses what is centuries away. Who is woken before its time sets the alarm again. */
const furthestMs = 30 * 24 * 60 * 60 * 1_000
const overdueMs = 1_000
const overdueMsMax = 5 * 60_000

/** Not later than this the object is awake. */
export function withinReach(at: number, now: number): number {
  return Math.min(at, now + furthestMs)
}

/** Should it fail, the object is about to be thrown away, with what it has written. */
export function setAlarm(storage: ObjectStorage, at: number, now: number, log: Logger): void {
  storage.setAlarm(withinReach(at, now)).catch((error: unknown) => log.error("an alarm could not be set", { error }))
}

/** When to look again at what was due and did not move: the longer it has waited, the later. That is known also to an object that was away. */
export function lookAgainAt(dueAt: number, now: number): number {
  return now + Math.min(Math.max(now - dueAt, overdueMs), overdueMsMax)
}

export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((at) => at !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
