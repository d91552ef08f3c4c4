import { PerdureError } from "../core/errors.ts"
import type { ExecutionSpec } from "../core/execution.ts"
import type { InstanceState } from "../core/instance-state.ts"
import type { AnyWorkflow } from "../core/workflow.ts"
import type { Scope } from "../ports/host.ts"
import type { NewInstance } from "../ports/journal-store.ts"
import type { Runtime } from "./runtime.ts"

/** How the code of a resident instance is run: in a scope of its own, with the engine's log and limits. */
export function executionSpec(runtime: Runtime, workflow: AnyWorkflow, identity: NewInstance, state: InstanceState, onActivity: () => void): ExecutionSpec {
  const { host, settings, engine } = runtime
  const { id, workflow: name, version, incarnation } = identity
  return {
    workflow,
    instance: { id, workflow: name, version, incarnation, run: state.run, startedAt: state.startedAt },
    limits: settings.limits,
    log: host.log,
    enter: (run) => host.runIn({ engine, instance: id }, run),
    guard: () => refuseInStep(host.currentScope()),
    onActivity,
  }
}

/** A step's function runs outside the order that replay repeats: what it asked for through the workflow's own ctx could not be told apart. */
function refuseInStep(scope: Scope | undefined): void {
  if (scope?.step === undefined) return
  const { step } = scope
  throw new PerdureError("CTX_IN_STEP", `step "${step}" uses the workflow's ctx; inside a step ask through its own context: async ({ step }) => step.do(…)`, {
    details: { step },
  })
}
