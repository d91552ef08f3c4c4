import type { Logger } from "../../ports/host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** The platform refuses alarms that are centuries away. An object that is woken too early sets its alarm again. */
const furthestMs = 30 * 24 * 60 * 60 * 1_000
const overdueMs = 1_000
const overdueMsMax = 5 * 60_000

/** The given time, or the latest time that the object sets an alarm to. */
export function withinReach(at: number, now: number): number {
  return Math.min(at, now + furthestMs)
}

/** Sets the alarm. If that fails, the platform discards the object and its last writes anyway, so the error is only logged. */
export function setAlarm(storage: ObjectStorage, at: number, now: number, log: Logger): void {
  storage.setAlarm(withinReach(at, now)).catch((error: unknown) => log.error("an alarm could not be set", { error }))
}

/**
 * When to check again for an instance that is due but makes no progress. The delay grows with the time since it was due, so the object needs no
 * counter that an eviction would lose.
 */
export function lookAgainAt(dueAt: number, now: number): number {
  return now + Math.min(Math.max(now - dueAt, overdueMs), overdueMsMax)
}

export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((at) => at !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
