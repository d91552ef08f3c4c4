// Recurring times: by a cron expression in a time zone, or at a fixed interval.
//
// An interval is measured in real time, in whole milliseconds, at least one. Its times are `anchor` plus any whole multiple of it, also before the anchor.
// Cron times are full seconds of local wall clocks. When these clocks are changed, the rules are:
//
// - Clocks go forward, and times are skipped: if the expression names a skipped time, it fires once, at the instant of the change. An expression with
//   a wildcard for its hour (`*` or `*/n`) does so only if it would not fire within the next hour anyway.
// - Clocks go back, and times come twice: an expression with fixed hours fires the first time only, and one with a wildcard for its hour fires both times.
//
// So hourly work goes on hourly, daily work is done once a day, and no work is left out. A range of all hours (0-23) counts as fixed hours. Schedules are
// durable, so these rules never change. The host knows when the clocks of a zone change, and its data for the future may change.

import { type Cron, nextWallTime, parseCron } from "./cron.ts"
import { type Duration, durationMs } from "./duration.ts"
import { PerdureError } from "../errors.ts"
import { instant } from "./instant.ts"
import { type TimeZone, timeZone } from "./time-zone.ts"

export interface CronRecurrence {
  /** The expression: five fields, or six with the second first, or a nickname such as `@daily`. */
  readonly cron: string
  /** The time zone by its IANA name. Default: UTC. */
  readonly timeZone?: string
}

export interface IntervalRecurrence {
  readonly every: Duration
  /** One of the times, in milliseconds since 1970. Default 0, so that "every 15 minutes" is on the quarters of an hour. */
  readonly anchor?: number
}

export type Recurrence = CronRecurrence | IntervalRecurrence

/** The latest instant that a Date can hold. */
const atMax = 8.64e15

/** The first time later than `after`. Undefined: there is none that a Date can hold. Throws BAD_SCHEDULE for a wrong recurrence. */
export function nextTime(recurrence: Recurrence, after: number): number | undefined {
  return sequence(recurrence)(instant(Math.floor(after), "after"))
}

/** The first `limit` times later than `from` and not later than `to`. */
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

/** Checks that exactly one kind of recurrence is given: callers without types may pass anything. */
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
    // `after` lies in the second pass of times that come twice, whose expressions have fired in the first pass. The search goes on behind that pass.
    const change = zone.changeBetween(at, after)
    wall = nextWallTime(cron, Math.max(wall + 1, change === undefined ? -Infinity : change.at + change.from))
  }
  return undefined
}

const hour = 3_600_000
/** No zone has ever set its clocks back by more. */
const setBackMax = 26 * hour

function nextInWildHours(cron: Cron, zone: TimeZone, after: number): number | undefined {
  let from = after
  let offset = zone.offsetAt(after)
  let wall = nextWallTime(cron, after + offset + 1)
  while (wall !== undefined) {
    const at = wall - offset
    // A change of the clocks later than this cannot repeat a time that they have shown by `from`.
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

/** A recurrence for people: "every 5 minutes", "0 9 * * MON-FRI in Europe/Berlin". */
export function describeRecurrence(recurrence: Recurrence): string {
  if (isCron(recurrence)) return `${recurrence.cron.trim()} in ${recurrence.timeZone ?? "UTC"}`
  const every = intervalMs(recurrence)
  const [unit, length] = units.find(([, ms]) => every % ms === 0) ?? ["millisecond", 1]
  const count = every / length
  const anchor = instant(recurrence.anchor ?? 0, "anchor", "BAD_SCHEDULE")
  return `every ${count === 1 ? unit : `${count} ${unit}s`}${anchor % every === 0 ? "" : ` from ${new Date(anchor).toISOString()}`}`
}
