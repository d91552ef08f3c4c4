import type { StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"

/** Declares the type of an event's payload for the compiler. It does not check payloads; use a schema of a validation library for that. */
export function eventSchema<Payload = undefined>(): StandardSchemaV1<Payload> {
  return { "~standard": { version: 1, vendor: "perdure", validate: (value) => ({ value: value as Payload }) } }
}
