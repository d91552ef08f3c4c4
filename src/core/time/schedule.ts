// A schedule: when to start instances of a workflow, and the records of its past times. Its row in the store has the schedule as JSON text, which stores
// do not read. The text is durable: fields may be added but never removed.
//
// The row also has the first due time that is not decided yet (`dueAt`). Each decision moves `dueAt` on and starts its instance in one write, which the
// row's revision fences. So each due time is decided once.

import { instant } from "./instant.ts"
import { nextTime, type Recurrence, timesBetween } from "./recurrence.ts"

/** What happens at a due time while an earlier instance of the schedule is running. */
export type Overlap = (typeof overlaps)[number]

export const overlaps = ["skip", "queue", "cancel-previous", "allow"] as const

export interface Schedule {
  readonly recurrence: Recurrence
  readonly overlap: Overlap
  /** The version of the workflow when the schedule was written. It is used by an engine that does not have the workflow. */
  readonly version?: string
  /** How late a missed time may still be fired. Absent: only the latest missed time is fired, within `latestMs`. */
  readonly catchUpMs?: number
  readonly tags?: readonly string[]
  /** The timeout of each instance. */
  readonly timeoutMs?: number
  readonly taskQueue?: string
  /** The input is sensitive. */
  readonly sensitive?: true
  /** The first and the last instant at which the schedule may fire. */
  readonly startAt?: number
  readonly endAt?: number
  readonly paused?: { readonly at: number; readonly reason?: string }
  /** Decided times that wait for the running instance to end, in the order in which they will start. */
  readonly waiting: readonly number[]
  /** Instances that had not ended at the last decision, oldest first; at most `runningMax`. */
  readonly running: readonly string[]
  readonly counts: { readonly started: number; readonly skipped: number; readonly missed: number }
  /** The last `logMax` records, oldest first. */
  readonly log: readonly FiringRecord[]
}

/** The record of a due time that started an instance, or of consecutive due times that did not, for one reason. */
export type FiringRecord =
  | { readonly outcome: "started"; readonly at: number; readonly startedAt: number; readonly by?: "trigger" | "backfill" }
  | { readonly outcome: "skipped"; readonly because: SkipReason; readonly from: number; readonly to: number; readonly count: number }
  | { readonly outcome: "missed"; readonly from: number; readonly to: number; readonly count: number }

/** `running`: an instance was running. `waiting`: another time was waiting. `superseded`: a later time took its place. `exists`: its instance existed. */
export type SkipReason = "running" | "waiting" | "superseded" | "exists" | "singleton"

const runningMax = 100
const logMax = 50

/** The last instant whose ISO form has a year of four digits, as the id of an instance needs it. */
const atMax = 253_402_300_799_999

/** The maximum length that an instance's id has beyond that of its schedule. */
export const timeSuffixLength = ":2026-01-01T00:00:00.000Z".length

const timeSuffix = /:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/

/** The id of the instance for a due time, such as `nightly:2026-11-15T02:00:00Z`. A due time has one id, so it cannot start two instances. */
export function instanceIdOf(schedule: string, at: number): string {
  return `${schedule}:${new Date(at).toISOString().replace(".000Z", "Z")}`
}

export function isScheduledId(id: string): boolean {
  return timeSuffix.test(id)
}

/** The id of the schedule that an instance with this id belongs to. Undefined: it belongs to none. */
export function scheduleIdOf(id: string): string | undefined {
  return isScheduledId(id) ? id.replace(timeSuffix, "") : undefined
}

/** The first due time later than `after`. Undefined: the schedule has no further times. */
export function nextDue({ recurrence, startAt, endAt }: Schedule, after: number): number | undefined {
  const at = nextTime(recurrence, Math.max(after, (startAt ?? -Infinity) - 1))
  return at === undefined || at > Math.min(endAt ?? Infinity, atMax) ? undefined : at
}

/** The first `limit` due times from `from` to `to`, both included. */
export function dueTimes({ recurrence, startAt, endAt }: Schedule, from: number, to: number, limit: number): number[] {
  return timesBetween(recurrence, Math.max(from, startAt ?? -Infinity) - 1, Math.min(to, endAt ?? Infinity, atMax), limit)
}

export function encodeSchedule(schedule: Schedule): string {
  return JSON.stringify(schedule)
}

export function decodeSchedule(text: string): Schedule {
  return JSON.parse(text) as Schedule
}

/** Records that an instance was started for a time. */
export function withStarted(schedule: Schedule, id: string, at: number, startedAt: number, by?: "trigger" | "backfill"): Schedule {
  const { running, counts } = schedule
  const record: FiringRecord = { outcome: "started", at, startedAt, ...(by === undefined ? undefined : { by }) }
  return {
    ...schedule,
    running: [...running, instanceIdOf(id, at)].slice(-runningMax),
    counts: { ...counts, started: counts.started + 1 },
    log: logged(schedule.log, record),
  }
}

/** Records that a time starts no instance. */
export function withSkipped(schedule: Schedule, at: number, because: SkipReason): Schedule {
  const { counts, log } = schedule
  return {
    ...schedule,
    counts: { ...counts, skipped: counts.skipped + 1 },
    log: logged(log, { outcome: "skipped", because, from: at, to: at, count: 1 }),
  }
}

/** Records times that no worker has fired and that are too old now. */
export function withMissed(schedule: Schedule, from: number, to: number, count: number): Schedule {
  const { counts, log } = schedule
  return { ...schedule, counts: { ...counts, missed: counts.missed + count }, log: logged(log, { outcome: "missed", from, to, count }) }
}

/** Extends the last record if it has the same reason, else adds a record. */
function logged(log: readonly FiringRecord[], record: FiringRecord): readonly FiringRecord[] {
  const last = log.at(-1)
  if (record.outcome === "started" || last === undefined || last.outcome === "started" || !isSameOutcome(last, record)) return [...log, record].slice(-logMax)
  return log.with(-1, { ...last, from: Math.min(last.from, record.from), to: Math.max(last.to, record.to), count: last.count + record.count })
}

function isSameOutcome(a: FiringRecord, b: FiringRecord): boolean {
  return a.outcome === "skipped" && b.outcome === "skipped" ? a.because === b.because : a.outcome === b.outcome
}

/** Whether two schedules have the same recurrence. Their start and end do not matter. */
export function hasSameRecurrence(a: Schedule, b: Schedule): boolean {
  const text = ({ recurrence }: Schedule) =>
    JSON.stringify("cron" in recurrence ? [recurrence.cron, recurrence.timeZone] : [recurrence.every, recurrence.anchor])
  return text(a) === text(b)
}

/** The first time to decide after a change of the schedule. A due time that is not decided yet is kept, unless the recurrence has changed. */
export function dueAfterChange(before: Schedule, dueAt: number | undefined, after: Schedule, now: number): number | undefined {
  if (after.paused) return undefined
  const from = dueAt !== undefined && hasSameRecurrence(before, after) ? Math.min(dueAt - 1, now) : now
  return nextDue(after, from)
}

/** Checks an instant that becomes part of an instance's id. */
export function scheduleInstant(value: Date | number | string, what: string): number {
  return Math.min(instant(value, what), atMax)
}
