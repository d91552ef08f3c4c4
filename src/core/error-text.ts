import { isSensitiveError } from "./hidden.ts"
import type { AnyWorkflow } from "./workflow.ts"

/** Whatever it is: `String` throws for objects without a usable toString. */
export function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** What was thrown, in its own words. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? textOf(thrown.message) : textOf(thrown)
}

const messageLengthMax = 300

/** What the code of a workflow threw, as anybody may read it. */
export function failureText(thrown: unknown, { options }: AnyWorkflow): string {
  if (options.sensitive?.result || isSensitiveError(thrown)) return "an error that is not shown"
  const message = messageOf(thrown).slice(0, messageLengthMax)
  return thrown instanceof Error ? `${textOf(thrown.name)}: ${message}` : message
}
