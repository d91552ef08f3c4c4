import { PerdureError } from "../core/errors.ts"
import type { Scope } from "../ports/host.ts"

/** A step's function runs outside the order that replay repeats: what it asked for through the workflow's own ctx could not be told apart. */
export function refuseInStep(scope: Scope | undefined): void {
  if (scope?.step === undefined) return
  const { step } = scope
  throw new PerdureError("CTX_IN_STEP", `step "${step}" uses the workflow's ctx; inside a step ask through its own context: async ({ step }) => step.do(…)`, {
    details: { step },
  })
}
