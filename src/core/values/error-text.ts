import { isSensitiveError } from "./redaction.ts"
import type { AnyWorkflow } from "../workflow/workflow.ts"

const messageLengthMax = 300
const itemsMax = 10

/** Whatever it is: `String` throws for objects without a usable toString, and repeats each part that a list refers to again. */
export function textOf(value: unknown): string {
  try {
    if (!Array.isArray(value)) return String(value)
    const items = value.slice(0, itemsMax).map((item: unknown) => (Array.isArray(item) ? "[…]" : textOf(item).slice(0, messageLengthMax)))
    return `${items.join()}${value.length > itemsMax ? ",…" : ""}`
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** What was thrown, in its own words. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? textOf(thrown.message) : textOf(thrown)
}

const causesMax = 10

/** What was thrown, with its stack and what caused it, for a log. */
export function stackOf(thrown: unknown): string {
  const texts: string[] = []
  for (let next = thrown; next !== undefined && texts.length < causesMax; next = next instanceof Error ? next.cause : undefined)
    texts.push(next instanceof Error && typeof next.stack === "string" ? next.stack : messageOf(next))
  return texts.join("\ncaused by ")
}

/** What the code of a workflow threw, as anybody may read it. */
export function failureText(thrown: unknown, { options }: AnyWorkflow): string {
  if (options.sensitive?.result || isSensitiveError(thrown)) return "an error that is not shown"
  const message = messageOf(thrown).slice(0, messageLengthMax)
  return thrown instanceof Error ? `${textOf(thrown.name)}: ${message}` : message
}
