import { isErrorObject } from "../../core/values/error-record.ts"
import { PerdureError } from "../../core/errors.ts"
import { plainBeginning } from "../../http/plain-body.ts"
import { asJson } from "./json.ts"
import { safeText } from "../../core/values/safe-text.ts"
import { oneLine, truncate } from "./plain-text.ts"

/** A stored value as indented JSON. Throws TOO_LARGE_FOR_JSON. */
export function valueText(value: unknown): string {
  return value === undefined ? "" : safeText(asJson(value, { indent: 2, isValue: true }))
}

/** A stored value as indented JSON, or the beginning of a value that is too large. */
export function valueTextOrBeginning(value: unknown): string {
  try {
    return valueText(value)
  } catch (error) {
    if (PerdureError.is(error, "TOO_LARGE_FOR_JSON")) return shortValue(value)
    throw error
  }
}

/** A stored value on one line of at most `width` columns. */
export function shortValue(value: unknown, width = Infinity): string {
  if (value === undefined) return ""
  return truncate(oneLine(isErrorObject(Object(value) as object) ? errorText(value) : beginning(value)), width)
}

/** No terminal shows more of a value on one line. */
const shownBytesMax = 64 * 1024

function beginning(value: unknown): string {
  return plainBeginning(value, shownBytesMax)
}

/** An error with its cause: `StepFailedError: …, because of Error: …`. */
export function errorText(error: unknown): string {
  if (typeof error !== "object" || error === null) return oneLine(beginning(error))
  const { name, message, cause } = error as { readonly name?: unknown; readonly message?: unknown; readonly cause?: unknown }
  if (typeof message !== "string") return oneLine(beginning(error))
  const text = `${typeof name === "string" ? name : "Error"}: ${message}`
  // The message of a failed step ends with the message of its cause.
  const more = cause === undefined || cause === error || text.endsWith(messageOf(cause)) ? "" : `, because of ${errorText(cause)}`
  return oneLine(text + more)
}

function messageOf(cause: unknown): string {
  const message = typeof cause === "object" && cause !== null && "message" in cause ? cause.message : cause
  return typeof message === "string" && message !== "" ? message : "\0"
}
