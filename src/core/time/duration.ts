import { PerdureError } from "../errors.ts"
import { shown } from "../workflow/input-limits.ts"

/** Parses and formats durations. */

type ShortUnit = "ms" | "s" | "m" | "h" | "d" | "w"
type LongUnit = "millisecond" | "second" | "minute" | "hour" | "day" | "week"

/**
 * A length of time: milliseconds as a number (`500`), or a number with a unit: `"500ms"`, `"30s"`, `"5m"`, `"24h"`, `"7d"`, `"2w"`, `"1 hour"`,
 * `"5 minutes"`. Any other value throws `BAD_DURATION`.
 */
export type Duration =
  | number
  | `${number}${ShortUnit}`
  | `${number} ${ShortUnit}`
  | `${number}${LongUnit}`
  | `${number}${LongUnit}s`
  | `${number} ${LongUnit}`
  | `${number} ${LongUnit}s`

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const week = 7 * day

/** The longest duration, a hundred thousand years: any present instant plus this is still a valid Date. */
const durationMsMax = 36_500_000 * day

const unitMs = new Map<string, number>([
  ...(["ms", "millisecond", "milliseconds"] as const).map((unit) => [unit, 1] as const),
  ...(["s", "second", "seconds"] as const).map((unit) => [unit, second] as const),
  ...(["m", "minute", "minutes"] as const).map((unit) => [unit, minute] as const),
  ...(["h", "hour", "hours"] as const).map((unit) => [unit, hour] as const),
  ...(["d", "day", "days"] as const).map((unit) => [unit, day] as const),
  ...(["w", "week", "weeks"] as const).map((unit) => [unit, week] as const),
])

const form = /^(\d+(?:\.\d+)?) ?([a-z]+)$/

/** The duration in whole milliseconds. `what` names the value in the error, such as `sleep "nap"` or `retry.initialInterval`. */
export function durationMs(value: Duration, what = "duration"): number {
  const ms = typeof value === "number" ? value : parse(value)
  if (ms >= 0 && ms <= durationMsMax) return Math.round(ms)
  const found = shown(value)
  const why = ms > durationMsMax ? "is too long" : ms < 0 ? "is negative" : "is not a duration"
  throw new PerdureError(
    "BAD_DURATION",
    `${what}: ${found} ${why}; use milliseconds as a number (500) or a number with a unit: "500ms", "30s", "5m", "24h", "7d", "2w", "1 hour", "5 minutes"`,
    { details: { value: found } },
  )
}

/** The milliseconds, or NaN for a value that is not a duration. Callers without types may pass anything. */
function parse(value: unknown): number {
  const match = typeof value === "string" ? form.exec(value) : null
  return match === null ? NaN : Number(match[1]) * (unitMs.get(match[2] ?? "") ?? NaN)
}

const steps = [
  ["d", day],
  ["h", hour],
  ["m", minute],
  ["s", second],
] as const

/** A duration for people, with at most two units, rounded down: "500ms", "1.5s", "1h 5m", "3d". */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms < second) return `${Math.floor(ms)}ms`
  if (ms < minute) return `${Math.floor(ms / 100) / 10}s`
  const first = steps.findIndex(([, length]) => ms >= length)
  const parts: string[] = []
  let rest = ms
  for (const [unit, length] of steps.slice(first, first + 2)) {
    const count = Math.floor(rest / length)
    rest -= count * length
    if (count > 0) parts.push(`${count}${unit}`)
  }
  return parts.join(" ")
}
