import { PerdureError, type ErrorCode } from "../errors.ts"
import { shown } from "../workflow/input-limits.ts"

/** What a Date can hold. */
const atMax = 8.64e15

/** Whole milliseconds since 1970 of a Date, a number or an ISO string. */
export function instant(value: Date | number | string, what: string, code: ErrorCode = "BAD_OPTION"): number {
  const at = Math.round(timeOf(value))
  if (Math.abs(at) <= atMax) return at
  throw new PerdureError(code, `${what} is ${shown(value)}; give a Date, milliseconds since 1970 or an ISO 8601 string`, { details: { option: what } })
}

/** NaN for what is no time: callers without types pass anything. */
function timeOf(value: unknown): number {
  if (typeof value === "number") return value
  if (typeof value === "string") return Date.parse(value)
  try {
    return Date.prototype.getTime.call(value)
  } catch {
    return Number.NaN
  }
}
