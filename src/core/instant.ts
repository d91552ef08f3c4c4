import { PerdureError, type ErrorCode } from "./errors.ts"

/** What a Date can hold. */
const atMax = 8.64e15

/** Whole milliseconds since 1970 of a Date, a number or an ISO string. */
export function instant(value: Date | number | string, what: string, code: ErrorCode = "BAD_OPTION"): number {
  const at = Math.round(typeof value === "number" ? value : value instanceof Date ? value.getTime() : Date.parse(value))
  if (Math.abs(at) <= atMax) return at
  throw new PerdureError(code, `${what} is ${String(JSON.stringify(value))}; give a Date, milliseconds since 1970 or an ISO 8601 string`)
}
