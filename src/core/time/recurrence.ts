// Times that come again: by a cron expression in a time zone, or at a fixed interval.
//
// An interval is measured in real time, in whole milliseconds, one at least: its times are `anchor` plus any whole multiple of
// it, also before the anchor. Cron times are full seconds of the clocks on the wall. What happens when these are set:
//
// - Forward, so that times are skipped: if the expression names any of them, it fires once, at the instant of the jump. One with
//   a wildcard for its hour (`*` or `*/n`) does so only if it would not fire within the next hour anyway.
// - Back, so that times come twice: an expression with fixed hours fires the first time only, one with a wildcard for its hour
//   both times.
//
// So hourly work goes on hourly, daily work is done once a day, and nothing is left out. All hours as a range (0-23) are fixed
// hours. Schedules are durable, and these rules with them: they never change. When the clocks of a zone are set is the host's
// knowledge, and may change for the time ahead with its data.

import { type Cron, nextWallTime, parseCron } from "./cron.ts"
import { type Duration, durationMs } from "./duration.ts"
import { PerdureError } from "../errors.ts"
import { instant } from "./instant.ts"
import { type TimeZone, timeZone } from "./time-zone.ts"

export interface CronRecurrence {
  /** Five fields, or six with the second first, or a nickname such as `@daily`. */
  readonly cron: string
  /** An IANA name; UTC by default. */
  readonly timeZone?: string
}

export interface IntervalRecurrence {
  readonly every: Duration
  /** Milliseconds since 1970 of one of the times; by default 0, so that "every 15 minutes" is on the quarters of an hour. */
  readonly anchor?: number
}

export type Recurrence = CronRecurrence | IntervalRecurrence

/** What a Date can hold. */
const atMax = 8.64e15

/** The first time later than `after`, or undefined if there is none that a Date could hold. Throws BAD_SCHEDULE for what is no recurrence. */
export function nextTime(recurrence: Recurrence, after: number): number | undefined {
  return sequence(recurrence)(instant(Math.floor(after), "after"))
}

/** The times later than `from`, until `to` (included), the earliest `limit` of them. */
export function timesBetween(recurrence: Recurrence, from: number, to: number, limit: number): number[] {
  const next = sequence(recurrence)
  const times: number[] = []
  let at = next(instant(Math.floor(from), "from"))
  while (at !== undefined && at <= to && times.length < limit) {
    times.push(at)
    at = next(at)
  }
  return times
}

function sequence(recurrence: Recurrence): (after: number) => number | undefined {
  const next = isCron(recurrence) ? cronSequence(recurrence) : intervalSequence(recurrence)
  return (after) => {
    const at = next(after)
    return at === undefined || at > atMax ? undefined : at
  }
}

/** The type says that it is one or the other, but callers without types pass anything. */
function isCron(recurrence: Recurrence | null | undefined): recurrence is CronRecurrence {
  const given = Object.keys(recurrence ?? {})
  if (given.includes("cron") && given.every((key) => key === "cron" || key === "timeZone")) return true
  if (given.includes("every") && given.every((key) => key === "every" || key === "anchor")) return false
  throw new PerdureError(
    "BAD_SCHEDULE",
    `a recurrence has either cron (and timeZone) or every (and anchor), but this has ${given.length === 0 ? "none of them" : given.join(", ")}`,
  )
}

function intervalSequence(recurrence: IntervalRecurrence): (after: number) => number {
  const every = intervalMs(recurrence)
  const phase = instant(recurrence.anchor ?? 0, "anchor", "BAD_SCHEDULE") % every
  return (after) => {
    const over = (after - phase) % every
    return after - over + (over < 0 ? 0 : every)
  }
}

function intervalMs({ every }: IntervalRecurrence): number {
  const ms = durationMs(every, "every")
  if (ms >= 1) return ms
  throw new PerdureError("BAD_SCHEDULE", `every is ${String(JSON.stringify(every))}; give at least one millisecond`)
}

function cronSequence(recurrence: CronRecurrence): (after: number) => number | undefined {
  const cron = parseCron(recurrence.cron)
  const zone = timeZone(recurrence.timeZone ?? "UTC")
  return cron.hasWildHour ? (after) => nextInWildHours(cron, zone, after) : (after) => nextInFixedHours(cron, zone, after)
}

function nextInFixedHours(cron: Cron, zone: TimeZone, after: number): number | undefined {
  let wall = nextWallTime(cron, after + zone.offsetAt(after) + 1)
  while (wall !== undefined) {
    const at = zone.firstInstantOf(wall)
    if (at > after) return at
    // `after` is in the second pass of times that come twice: what they name has fired. It goes on where the clocks were set back.
    const change = zone.changeBetween(at, after)
    wall = nextWallTime(cron, Math.max(wall + 1, change === undefined ? -Infinity : change.at + change.from))
  }
  return undefined
}

const hour = 3_600_000
/** No clock was ever set back by more. */
const setBackMax = 26 * hour

function nextInWildHours(cron: Cron, zone: TimeZone, after: number): number | undefined {
  let from = after
  let offset = zone.offsetAt(after)
  let wall = nextWallTime(cron, after + offset + 1)
  while (wall !== undefined) {
    const at = wall - offset
    // Clocks set back later than this show no time again that they have shown by `from`.
    const until = Math.min(at, from + setBackMax)
    const change = zone.changeBetween(from, until)
    if (change !== undefined) {
      from = change.at
      offset = change.to
      const later = nextWallTime(cron, from + offset)
      const isSkipped = wall < from + offset
      if (isSkipped && (later === undefined || later - offset >= from + hour)) return from
      wall = later
    } else if (until === at) return at
    else {
      from = zone.firstInstantOf(wall) - 1
      offset = zone.offsetAt(from)
    }
  }
  return undefined
}

const units = [
  ["week", 604_800_000],
  ["day", 86_400_000],
  ["hour", hour],
  ["minute", 60_000],
  ["second", 1000],
  ["millisecond", 1],
] as const

/** For people: "every 5 minutes", "0 9 * * MON-FRI in Europe/Berlin". */
export function describeRecurrence(recurrence: Recurrence): string {
  if (isCron(recurrence)) return `${recurrence.cron.trim()} in ${recurrence.timeZone ?? "UTC"}`
  const every = intervalMs(recurrence)
  const [unit, length] = units.find(([, ms]) => every % ms === 0) ?? ["millisecond", 1]
  const count = every / length
  const anchor = instant(recurrence.anchor ?? 0, "anchor", "BAD_SCHEDULE")
  return `every ${count === 1 ? unit : `${count} ${unit}s`}${anchor % every === 0 ? "" : ` from ${new Date(anchor).toISOString()}`}`
}
