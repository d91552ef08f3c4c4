import { encodeValue, type Payload } from "../values/value-codec.ts"

/** What workflow code came to. */
export type Outcome = (
  | { readonly ok: true; readonly value: unknown; /** The input of the next run. */ readonly continues?: Payload }
  | { readonly ok: false; readonly error: unknown }
) & {
  /** Steps whose rollback failed. */
  readonly notRolledBack?: readonly string[]
}

/** A run whose result cannot be stored fails like any other. */
export function storable(outcome: Outcome, bytesMax: number): Outcome {
  if (!outcome.ok) return outcome
  try {
    encodeValue(outcome.value, { what: "result", bytesMax })
    return outcome
  } catch (error) {
    return { ok: false, error }
  }
}
