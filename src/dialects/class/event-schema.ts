import type { StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"

/** The type of an event's payload, for the compiler only: nothing is checked when it comes. For that, take a schema of a validation library instead. */
export function eventSchema<Payload = undefined>(): StandardSchemaV1<Payload> {
  return { "~standard": { version: 1, vendor: "perdure", validate: (value) => ({ value: value as Payload }) } }
}
