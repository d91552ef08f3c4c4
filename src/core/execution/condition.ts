import type { WaitAsk } from "./ask.ts"
import { PerdureError } from "../errors.ts"
import { isThenable } from "./promise-call.ts"

/** What is to be recorded of a condition: that it holds, or what its predicate threw. */
export type ConditionResult = { readonly id: string } | { readonly id: string; readonly error: unknown }

/** The first of these conditions that holds now, or cannot be told. `read` runs a predicate where it may only read. */
export function firstSettledCondition(conditions: readonly WaitAsk[], read: (what: string, predicate: () => unknown) => unknown): ConditionResult | undefined {
  for (const { id, until } of conditions) {
    try {
      const answer = until && read(`condition "${id}"`, until)
      refusePromise(id, answer)
      if (answer) return { id }
    } catch (error) {
      return { id, error }
    }
  }
  return undefined
}

function refusePromise(id: string, answer: unknown): void {
  if (!isThenable(answer)) return
  answer.then(undefined, () => undefined)
  throw new PerdureError("BAD_OPTION", `the predicate of condition "${id}" gives a promise; it says at once whether the condition holds`)
}
