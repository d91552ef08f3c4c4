import { PerdureError } from "../../core/errors.ts"
import type { FlowControl } from "../../ports/flow-control.ts"
import type { WorkflowLimitSettings } from "../../ports/cloudflare/limit-settings.ts"

/** The configured limits behind a binding. One Durable Object has those of one workflow. */
export function objectLimits(settingsOf: (workflow: string) => WorkflowLimitSettings): Pick<FlowControl, "limitsOf" | "override"> {
  const ask = async <T>(workflow: string, call: (of: WorkflowLimitSettings) => Promise<T>): Promise<T> => {
    try {
      return await call(settingsOf(workflow))
    } catch (cause) {
      throw new PerdureError("UNREACHABLE", `the object of the limits of "${workflow}" did not answer; try again`, { details: { workflow }, cause })
    }
  }
  return {
    limitsOf: (workflow) => ask(workflow, (of) => of.limitsGet(workflow)),
    override: (workflow, changes) => ask(workflow, (of) => of.limitsSet(workflow, changes)),
  }
}
