import { durationMs, type Duration } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import { checkId, checkQueue, checkTags } from "../../core/workflow/input-limits.ts"
import { nextTime, type Recurrence } from "../../core/time/recurrence.ts"
import { type Overlap, overlaps, type Schedule, scheduleInstant, timeSuffixLength } from "../../core/time/schedule.ts"

const definitionKeys = ["cron", "timeZone", "every", "input", "overlap", "catchUp", "tags", "timeout", "taskQueue", "startAt", "endAt"]
const creationKeys = [...definitionKeys, "workflow", "paused", "ifExists"]

type Instant = Date | number | string

/** The options that `create` and `update` have in common. Callers without types may give anything. */
export interface GivenOptions {
  readonly cron?: string
  readonly timeZone?: string
  readonly every?: Duration
  readonly overlap?: Overlap
  readonly catchUp?: Duration | null
  readonly tags?: readonly string[]
  readonly timeout?: Duration | null
  readonly taskQueue?: string | null
  readonly startAt?: Instant | null
  readonly endAt?: Instant | null
}

/** The part of a schedule that its user defines. The rest records its firings. */
type Definition = Pick<Schedule, "recurrence" | "overlap" | "catchUpMs" | "tags" | "timeoutMs" | "taskQueue" | "startAt" | "endAt">

export function checkScheduleId(id: string, idLengthMax: number): void {
  checkId(id, idLengthMax - timeSuffixLength)
}

/** The definition of a new schedule. Throws if the options are invalid. */
export function definitionOf(given: GivenOptions): Definition {
  checkKeys(given, creationKeys)
  return checked(given, {})
}

/** The definition after an update. */
export function changedDefinition(given: GivenOptions, before: Definition): Definition {
  checkKeys(given, definitionKeys)
  return checked(given, before)
}

function checked(given: GivenOptions, before: Partial<Definition>): Definition {
  const overlap = given.overlap ?? before.overlap ?? "skip"
  if (!overlaps.includes(overlap))
    throw bad("overlap", `${JSON.stringify(overlap)} is no overlap policy; there are ${overlaps.map((name) => `"${name}"`).join(", ")}`)
  const startAt = changed(given.startAt, before.startAt, (value) => scheduleInstant(value, "startAt"))
  const endAt = changed(given.endAt, before.endAt, (value) => scheduleInstant(value, "endAt"))
  if (startAt !== undefined && endAt !== undefined && endAt < startAt) throw bad("endAt", "endAt is before startAt; give a later endAt")
  const catchUpMs = changed(given.catchUp, before.catchUpMs, (value) => durationMs(value, "catchUp"))
  const timeoutMs = changed(given.timeout, before.timeoutMs, (value) => durationMs(value, "timeout"))
  const tags = given.tags === undefined ? before.tags : checkTags(given.tags)
  const taskQueue = given.taskQueue === null ? undefined : (given.taskQueue ?? before.taskQueue)
  if (taskQueue !== undefined) checkQueue(taskQueue)
  return {
    recurrence: recurrenceOf(given, before.recurrence, startAt),
    overlap,
    ...(catchUpMs === undefined ? undefined : { catchUpMs }),
    ...(tags === undefined || tags.length === 0 ? undefined : { tags }),
    ...(timeoutMs === undefined ? undefined : { timeoutMs }),
    ...(taskQueue === undefined ? undefined : { taskQueue }),
    ...(startAt === undefined ? undefined : { startAt }),
    ...(endAt === undefined ? undefined : { endAt }),
  }
}

/** The recurrence after an update. An interval is counted from `startAt`. */
function recurrenceOf({ cron, timeZone, every }: GivenOptions, before: Recurrence | undefined, startAt: number | undefined): Recurrence {
  if (cron !== undefined && every !== undefined) throw badTimes("has both cron and every; give one of them")
  const zoneBefore = before && "cron" in before ? before.timeZone : undefined
  const cronBefore = before && "cron" in before ? before.cron : undefined
  const everyBefore = before && "every" in before ? before.every : undefined
  const expression = cron ?? (every === undefined ? cronBefore : undefined)
  const interval = every ?? (cron === undefined ? everyBefore : undefined)
  if (expression === undefined && interval === undefined) throw badTimes('has neither cron nor every; give cron: "0 2 * * *" or every: "5m"')
  if (interval !== undefined && timeZone !== undefined) throw badTimes("has a timeZone, which an interval does not need; leave it out, or use cron")
  const zone = timeZone ?? zoneBefore
  const recurrence: Recurrence =
    interval === undefined
      ? { cron: expression ?? "", ...(zone === undefined ? undefined : { timeZone: zone }) }
      : { every: durationMs(interval, "every"), ...(startAt === undefined ? undefined : { anchor: startAt }) }
  // Throws if the cron expression or the time zone is invalid.
  nextTime(recurrence, 0)
  return recurrence
}

/** Null removes an option, undefined leaves it as it is. */
function changed<T>(given: T | null | undefined, before: number | undefined, read: (value: T) => number): number | undefined {
  if (given === null) return undefined
  return given === undefined ? before : read(given)
}

/** A schedule with a misspelt option would fire at the wrong time, and nobody would notice. */
function checkKeys(given: object, known: readonly string[]): void {
  for (const key of Object.keys(given)) if (!known.includes(key)) throw bad(key, `there is no option "${key}" of a schedule; there are ${known.join(", ")}`)
}

function bad(option: string, message: string): PerdureError {
  return new PerdureError("BAD_OPTION", message, { details: { option } })
}

function badTimes(what: string): PerdureError {
  return new PerdureError("BAD_SCHEDULE", `the schedule ${what}`)
}
