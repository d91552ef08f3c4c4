import type { WaitAsk } from "./ask.ts"
import { PerdureError } from "../errors.ts"
import { isThenable } from "./promise-call.ts"

/** The result of a condition that the driver has to record: the condition holds, or its predicate has thrown. */
export type ConditionResult = { readonly id: string } | { readonly id: string; readonly error: unknown }

/** The first condition that holds now, or whose predicate throws. `read` runs a predicate and refuses asks in it. */
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
  throw new PerdureError("BAD_OPTION", `the predicate of condition "${id}" returns a promise; it has to answer at once whether the condition holds`)
}
