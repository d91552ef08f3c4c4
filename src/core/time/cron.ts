import { type CronDays, daysOfMonth, parseDates, parseWeekdays } from "./cron-days.ts"
import { type FieldShape, fieldShapes, parseField, type Refusal } from "./cron-field.ts"
import { PerdureError } from "../errors.ts"
import { memo } from "../collections/memo.ts"

// Cron expressions and the wall times they name:
//
//   [second] minute hour day-of-month month day-of-week
//
// Without seconds, a time is a full minute. A field is `*` (or `?`), a number, a name (JAN-DEC, SUN-SAT, in any case), a range `10-40`, a step `*/5` or
// `10-40/10`, or a list of these. Sunday is 0 and 7. cron-days.ts has the rules for days. recurrence.ts turns wall times into instants.

export interface Cron extends CronDays {
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly months: readonly number[]
  /** Whether the hour is `*`, also with a step. */
  readonly hasWildHour: boolean
}

const nicknames = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
])

const specials = new Map([
  [fieldShapes.date.name, ", L for the last, 15W for the weekday nearest to the 15th, LW for the last weekday"],
  [fieldShapes.weekday.name, ", FRIL for the last Friday, MON#2 for the second Monday"],
])

export const parseCron: (expression: string) => Cron = memo((expression) => {
  const refusal = (why: string) => new PerdureError("BAD_SCHEDULE", `cron ${String(JSON.stringify(expression))}: ${why}`, { details: { cron: expression } })
  if (typeof expression !== "string") throw refusal('a cron expression is a string such as "0 9 * * MON-FRI"')
  const text = expression.trim()
  const expanded = text.startsWith("@") ? nicknames.get(text.toLowerCase()) : text
  if (expanded === undefined) throw refusal(`no such nickname; there are ${[...nicknames.keys()].join(", ")}`)
  const fields = expanded === "" ? [] : expanded.split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6)
    throw refusal(`it has ${fields.length} fields, but needs five (minute hour day-of-month month day-of-week), or six with the second first`)
  const [second = "", minute = "", hour = "", date = "", month = "", weekday = ""] = fields.length === 6 ? fields : ["0", ...fields]

  const refuse =
    (shape: FieldShape, field: string): Refusal =>
    (part, why) =>
      refusal(`${shape.name} ${JSON.stringify(field)}: ${part === field.toUpperCase() ? "" : `${JSON.stringify(part)}: `}${why}; ${accepted(shape)}`)
  const parse = (shape: FieldShape, field: string) => parseField(field, shape, refuse(shape, field))
  const hours = parse(fieldShapes.hour, hour)
  const cron: Cron = {
    seconds: parse(fieldShapes.second, second).values,
    minutes: parse(fieldShapes.minute, minute).values,
    hours: hours.values,
    hasWildHour: hours.wild,
    dates: parseDates(date, refuse(fieldShapes.date, date)),
    months: parse(fieldShapes.month, month).values,
    weekdays: parseWeekdays(weekday, refuse(fieldShapes.weekday, weekday)),
  }
  if (nextWallTime(cron, 0) === undefined)
    throw refusal(`it never comes: no day has the day-of-month ${date}, the month ${month} and the day-of-week ${weekday} together; change one of the three`)
  return cron
}, 1000)

function accepted({ name, min, max, names }: FieldShape): string {
  const named = names === undefined ? "" : `, a name ${names[0] ?? ""}-${names.at(-1) ?? ""}`
  return `${name === "hour" ? "an" : "a"} ${name} is *, a number ${min}-${max}${named}, a range (${min + 1}-${min + 4}), a step (*/2 or ${min + 1}-${min + 5}/2)${specials.get(name) ?? ""}, or a list of these`
}

const dayMs = 86_400_000
/** The latest instant that a Date can hold. */
const wallMax = 8.64e15
/** The days after which the calendar repeats itself. An expression that has no time within them never has one. */
const cycleYears = 400

/** The first wall time at `from` or later. Undefined: there is none that a Date can hold. */
export function nextWallTime(cron: Cron, from: number): number | undefined {
  if (from > wallMax) return undefined
  const start = Math.max(from, -wallMax)
  const today = Math.floor(start / dayMs)
  const day = nextDay(cron, today)
  if (day === undefined) return undefined
  const time = day > today ? 0 : nextTimeOfDay(cron, Math.ceil((start - today * dayMs) / 1000))
  if (time !== undefined) return wallTime(cron, day, time)
  const later = nextDay(cron, today + 1)
  return later === undefined ? undefined : wallTime(cron, later, 0)
}

function wallTime(cron: Cron, day: number, fromSecond: number): number {
  return day * dayMs + (nextTimeOfDay(cron, fromSecond) ?? 0) * 1000
}

/** The first time of day at `from` or later, in seconds since midnight. */
function nextTimeOfDay({ hours, minutes, seconds }: Cron, from: number): number | undefined {
  const fromHour = Math.floor(from / 3600)
  const fromMinute = Math.floor(from / 60) % 60
  const hour = next(hours, fromHour)
  if (hour === undefined) return undefined
  if (hour === fromHour) {
    const second = next(seconds, from % 60)
    const minute = next(minutes, second === undefined ? fromMinute + 1 : fromMinute)
    if (minute !== undefined) return hour * 3600 + minute * 60 + (minute === fromMinute ? (second ?? 0) : (seconds[0] ?? 0))
  }
  const laterHour = hour === fromHour ? next(hours, hour + 1) : hour
  return laterHour === undefined ? undefined : laterHour * 3600 + (minutes[0] ?? 0) * 60 + (seconds[0] ?? 0)
}

/** The first day at `from` or later, in days since 1970. */
function nextDay(cron: Cron, from: number): number | undefined {
  const date = new Date(from * dayMs)
  const yearMax = date.getUTCFullYear() + cycleYears
  let year = date.getUTCFullYear()
  let month = date.getUTCMonth() + 1
  // A mask of the days of the first month that are over.
  let over = (1 << (date.getUTCDate() - 1)) - 1
  while (year <= yearMax) {
    const found = next(cron.months, month)
    if (found === month) {
      const first = dayNumber(year, month)
      const length = (month === 12 ? dayNumber(year + 1, 1) : dayNumber(year, month + 1)) - first
      const days = daysOfMonth(cron, length, (((first + 4) % 7) + 7) % 7) & ~over
      if (days !== 0) return first + 31 - Math.clz32(days & -days)
      month++
    } else if (found === undefined) {
      month = 1
      year++
    } else month = found
    over = 0
  }
  return undefined
}

/** The days from 1970 to the first of a month, in the Gregorian calendar. Years start in March here, so that the leap day is their last day. */
function dayNumber(year: number, month: number): number {
  const shifted = month > 2 ? year : year - 1
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400)
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5)
  return shifted * 365 + leapDays + dayOfYear - 719_468
}

function next(values: readonly number[], from: number): number | undefined {
  for (const value of values) if (value >= from) return value
  return undefined
}
