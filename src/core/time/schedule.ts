// A schedule: when to start instances of a workflow, and what became of its times so far. Its row in the store keeps it as JSON
// text, which stores do not look into. The text is durable: fields are only ever added.
//
// Beside it, the row has the first due time that is not decided on yet (`dueAt`). Each decision moves it on, under the fence of the
// row's revision, together with the instance that the decision starts: so a due time is decided on once.

import { instant } from "./instant.ts"
import { nextTime, type Recurrence, timesBetween } from "./recurrence.ts"

/** What a due time does that comes while an instance of the schedule is not over. */
export type Overlap = (typeof overlaps)[number]

export const overlaps = ["skip", "queue", "cancel-previous", "allow"] as const

export interface Schedule {
  readonly recurrence: Recurrence
  readonly overlap: Overlap
  /** Of the workflow, as known to whoever wrote it: for one who starts an instance and knows no version. */
  readonly version?: string
  /** How late a time may still be fired. Absent: only the latest of those missed, within `latestMs`. */
  readonly catchUpMs?: number
  readonly tags?: readonly string[]
  /** Of each instance. */
  readonly timeoutMs?: number
  readonly taskQueue?: string
  /** The input is for the code alone. */
  readonly sensitive?: true
  /** No time before, and none after; both included. */
  readonly startAt?: number
  readonly endAt?: number
  readonly paused?: { readonly at: number; readonly reason?: string }
  /** Times that are decided on and wait for what runs to end, in the order in which they will start. */
  readonly waiting: readonly number[]
  /** Instances that were not over when last looked, oldest first; at most `runningMax`. */
  readonly running: readonly string[]
  readonly counts: { readonly started: number; readonly skipped: number; readonly missed: number }
  /** The last `logMax` records, oldest first. */
  readonly log: readonly FiringRecord[]
}

/** What became of due times: one that started an instance, or a stretch of them that did not, for one reason. */
export type FiringRecord =
  | { readonly outcome: "started"; readonly at: number; readonly startedAt: number; readonly by?: "trigger" | "backfill" }
  | { readonly outcome: "skipped"; readonly because: SkipReason; readonly from: number; readonly to: number; readonly count: number }
  | { readonly outcome: "missed"; readonly from: number; readonly to: number; readonly count: number }

/** `running`, `waiting`: an instance ran, or another time waited. `superseded`: it waited until a later one came. `exists`: its instance was there. */
export type SkipReason = "running" | "waiting" | "superseded" | "exists" | "singleton"

const runningMax = 100
const logMax = 50

/** The last time whose ISO form has a year of four digits, as an instance's id needs it. */
const atMax = 253_402_300_799_999

/** How much longer than its schedule's the id of an instance is, at most. */
export const timeSuffixLength = ":2026-01-01T00:00:00.000Z".length

const timeSuffix = /:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/

/** `nightly:2026-11-15T02:00:00Z`: one for each due time, so that none can start two instances. Milliseconds only where there are some. */
export function instanceIdOf(schedule: string, at: number): string {
  return `${schedule}:${new Date(at).toISOString().replace(".000Z", "Z")}`
}

export function isScheduledId(id: string): boolean {
  return timeSuffix.test(id)
}

/** The schedule that an instance of this id would be of. */
export function scheduleIdOf(id: string): string | undefined {
  return isScheduledId(id) ? id.replace(timeSuffix, "") : undefined
}

/** The first due time later than `after`. Undefined: there is none any more. */
export function nextDue({ recurrence, startAt, endAt }: Schedule, after: number): number | undefined {
  const at = nextTime(recurrence, Math.max(after, (startAt ?? -Infinity) - 1))
  return at === undefined || at > Math.min(endAt ?? Infinity, atMax) ? undefined : at
}

/** The due times from `from` to `to`, both included; the first `limit` of them. */
export function dueTimes({ recurrence, startAt, endAt }: Schedule, from: number, to: number, limit: number): number[] {
  return timesBetween(recurrence, Math.max(from, startAt ?? -Infinity) - 1, Math.min(to, endAt ?? Infinity, atMax), limit)
}

export function encodeSchedule(schedule: Schedule): string {
  return JSON.stringify(schedule)
}

export function decodeSchedule(text: string): Schedule {
  return JSON.parse(text) as Schedule
}

/** An instance was started for a time. */
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

/** A time starts no instance. */
export function withSkipped(schedule: Schedule, at: number, because: SkipReason): Schedule {
  const { counts, log } = schedule
  return {
    ...schedule,
    counts: { ...counts, skipped: counts.skipped + 1 },
    log: logged(log, { outcome: "skipped", because, from: at, to: at, count: 1 }),
  }
}

/** Times that came while nobody was there to fire them, and that are too old now. */
export function withMissed(schedule: Schedule, from: number, to: number, count: number): Schedule {
  const { counts, log } = schedule
  return { ...schedule, counts: { ...counts, missed: counts.missed + count }, log: logged(log, { outcome: "missed", from, to, count }) }
}

/** A stretch goes on in one record. */
function logged(log: readonly FiringRecord[], record: FiringRecord): readonly FiringRecord[] {
  const last = log.at(-1)
  if (record.outcome === "started" || last === undefined || last.outcome === "started" || !isSameOutcome(last, record)) return [...log, record].slice(-logMax)
  return log.with(-1, { ...last, from: Math.min(last.from, record.from), to: Math.max(last.to, record.to), count: last.count + record.count })
}

function isSameOutcome(a: FiringRecord, b: FiringRecord): boolean {
  return a.outcome === "skipped" && b.outcome === "skipped" ? a.because === b.because : a.outcome === b.outcome
}

/** Whether two come again at the same times, whenever they begin and end. */
export function hasSameRecurrence(a: Schedule, b: Schedule): boolean {
  const text = ({ recurrence }: Schedule) =>
    JSON.stringify("cron" in recurrence ? [recurrence.cron, recurrence.timeZone] : [recurrence.every, recurrence.anchor])
  return text(a) === text(b)
}

/** The first time to decide on after a change: a due time that was not decided on yet is not lost, unless the times are others now. */
export function dueAfterChange(before: Schedule, dueAt: number | undefined, after: Schedule, now: number): number | undefined {
  if (after.paused) return undefined
  const from = dueAt !== undefined && hasSameRecurrence(before, after) ? Math.min(dueAt - 1, now) : now
  return nextDue(after, from)
}

/** An instant that an instance's id can name. */
export function scheduleInstant(value: Date | number | string, what: string): number {
  return Math.min(instant(value, what), atMax)
}
