import { encodeValue, type Payload } from "../values/value-codec.ts"

/** How workflow code has ended. */
export type Outcome = (
  | { readonly ok: true; readonly value: unknown; /** The input of the next run. */ readonly continues?: Payload }
  | { readonly ok: false; readonly error: unknown }
) & {
  /** Steps whose rollback failed. */
  readonly notRolledBack?: readonly string[]
}

/** The outcome, or a failure if the result cannot be stored. */
export function storable(outcome: Outcome, bytesMax: number): Outcome {
  if (!outcome.ok) return outcome
  try {
    encodeValue(outcome.value, { what: "result", bytesMax })
    return outcome
  } catch (error) {
    return { ok: false, error }
  }
}
