// The entry `perdure` in a Worker, with the types of index.ts. A Worker cannot open an engine, so this entry imports neither the Node host nor the
// default store, and bundles do not contain them.

import { PerdureError } from "./core/errors.ts"
import type { PublicEngine } from "./engine/public-engine.ts"

/** Opens engines, but not in a Worker. */
export const Perdure = {
  /** Throws `BAD_OPTION`: a Worker cannot open an engine of its own. Use `createWorkflowRunner` of `perdure/cloudflare`. */
  async open(): Promise<PublicEngine> {
    throw new PerdureError("BAD_OPTION", 'a Worker cannot open an engine of its own; use createWorkflowRunner of "perdure/cloudflare"')
  },
}

export { defineActivity } from "./core/workflow/activity.ts"
export { workflow } from "./core/workflow/workflow.ts"
export { isHidden } from "./core/values/redaction.ts"
export { BaseWorkflow } from "./dialects/class/base-workflow.ts"
export { eventSchema } from "./dialects/class/event-schema.ts"
export {
  CancelledError,
  ChildFailedError,
  EventTimeoutError,
  NonRetryableError,
  PerdureError,
  ResultTimeoutError,
  StepFailedError,
  TerminatedError,
} from "./core/errors.ts"
