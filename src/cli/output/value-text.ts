import { isErrorObject } from "../../core/error-record.ts"
import { asJson } from "./json.ts"
import { oneLine, safeText, truncate } from "./plain-text.ts"

/** A stored value for people: JSON, indented. */
export function valueText(value: unknown): string {
  return value === undefined ? "" : safeText(asJson(value, 2))
}

/** On one line of at most so many columns. */
export function shortValue(value: unknown, width = Infinity): string {
  if (value === undefined) return ""
  return truncate(oneLine(isErrorObject(Object(value) as object) ? errorText(value) : asJson(value)), width)
}

/** An error with what caused it: `StepFailedError: …, because of Error: …`. */
export function errorText(error: unknown): string {
  if (typeof error !== "object" || error === null) return oneLine(asJson(error))
  const { name, message, cause } = error as { readonly name?: unknown; readonly message?: unknown; readonly cause?: unknown }
  if (typeof message !== "string") return oneLine(asJson(error))
  const text = `${typeof name === "string" ? name : "Error"}: ${message}`
  // The message of a step that failed ends with that of its cause.
  const more = cause === undefined || cause === error || text.endsWith(messageOf(cause)) ? "" : `, because of ${errorText(cause)}`
  return oneLine(text + more)
}

function messageOf(cause: unknown): string {
  const message = typeof cause === "object" && cause !== null && "message" in cause ? cause.message : cause
  return typeof message === "string" && message !== "" ? message : "\0"
}
