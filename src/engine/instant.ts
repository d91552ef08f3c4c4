import { PerdureError } from "../core/errors.ts"

/** Milliseconds since 1970 of a Date, a number or an ISO string. */
export function instant(value: Date | number | string, what: string): number {
  const at = typeof value === "number" ? value : value instanceof Date ? value.getTime() : Date.parse(value)
  if (Number.isFinite(at)) return at
  throw new PerdureError("BAD_OPTION", `${what} is ${JSON.stringify(value)}; give a Date, milliseconds since 1970 or an ISO 8601 string`)
}
