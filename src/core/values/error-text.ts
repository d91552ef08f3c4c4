import { isSensitiveError } from "./redaction.ts"
import type { AnyWorkflow } from "../workflow/workflow.ts"

const messageLengthMax = 300
const itemsMax = 10

/** Any value as text. `String` alone would throw for objects without a usable toString, and would repeat shared parts of a list. */
export function textOf(value: unknown): string {
  try {
    if (!Array.isArray(value)) return String(value)
    const items = value.slice(0, itemsMax).map((item: unknown) => (Array.isArray(item) ? "[…]" : textOf(item).slice(0, messageLengthMax)))
    return `${items.join()}${value.length > itemsMax ? ",…" : ""}`
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** The message of an error, or any other thrown value as text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? textOf(thrown.message) : textOf(thrown)
}

const causesMax = 10

/** A thrown value with its stack and its causes, for a log. */
export function stackOf(thrown: unknown): string {
  const texts: string[] = []
  for (let next = thrown; next !== undefined && texts.length < causesMax; next = next instanceof Error ? next.cause : undefined)
    texts.push(next instanceof Error && typeof next.stack === "string" ? next.stack : messageOf(next))
  return texts.join("\ncaused by ")
}

/** The message of an error of workflow code, redacted if the workflow's result is sensitive. */
export function failureText(thrown: unknown, { options }: AnyWorkflow): string {
  if (options.sensitive?.result || isSensitiveError(thrown)) return "an error that is not shown"
  const message = messageOf(thrown).slice(0, messageLengthMax)
  return thrown instanceof Error ? `${textOf(thrown.name)}: ${message}` : message
}
