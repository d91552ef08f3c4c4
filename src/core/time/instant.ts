import { PerdureError, type ErrorCode } from "../errors.ts"
import { shown } from "../workflow/input-limits.ts"

/** The latest instant that a Date can hold. */
const atMax = 8.64e15

/** A Date, a number or an ISO string as whole milliseconds since 1970. */
export function instant(value: Date | number | string, what: string, code: ErrorCode = "BAD_OPTION"): number {
  const at = Math.round(timeOf(value))
  if (Math.abs(at) <= atMax) return at
  throw new PerdureError(code, `${what} is ${shown(value)}; give a Date, milliseconds since 1970 or an ISO 8601 string`, { details: { option: what } })
}

/** The milliseconds, or NaN for a value that is not a time. Callers without types may pass anything. */
function timeOf(value: unknown): number {
  if (typeof value === "number") return value
  if (typeof value === "string") return Date.parse(value)
  try {
    return Date.prototype.getTime.call(value)
  } catch {
    return Number.NaN
  }
}
