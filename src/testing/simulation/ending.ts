import { encodeValue } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { InstanceDescription } from "../../client-api/client-api.ts"

/** The end of an instance, as text that can be compared and shown. */
export interface Ending {
  readonly status: string
  readonly result: unknown
  readonly text: string
}

export function endingOf({ status, result, error }: InstanceDescription, comparable: (result: unknown) => unknown): Ending {
  if (status === "completed") return { status, result, text: `completed with ${shown(comparable(result))}` }
  return { status, result: undefined, text: error instanceof Error ? `${status} with ${errorText(error)}` : status }
}

/** The text leaves out the number of attempts, because attempts that a crash interrupts count. */
function errorText(error: Error): string {
  if (!PerdureError.is(error, "STEP_FAILED")) return `${error.name}: ${error.message}`
  const { cause } = error
  return `${error.name} of step "${String(error.details["step"])}", by ${cause instanceof Error ? `${cause.name}: ${cause.message}` : shown(cause)}`
}

function shown(value: unknown): string {
  return encodeValue(value) || "undefined"
}
