// What `import "perdure"` is in a Worker. Its types are those of index.ts; what differs is that no engine can be opened in a process that is none,
// so nothing of the Node host and of the default store is in a bundle, and bundlers need not wrap every module for the sake of loading them later.

import { PerdureError } from "./core/errors.ts"
import { defineWorkflow, type workflow as checkedWorkflow } from "./core/workflow/workflow.ts"
import type { PublicEngine } from "./engine/public-engine.ts"

/** Opens engines; not in a Worker. */
export const Perdure = {
  /** Throws `BAD_OPTION`: a Worker cannot open an engine of its own. Use `createWorkflowRunner` of `perdure/cloudflare`. */
  async open(): Promise<PublicEngine> {
    throw new PerdureError("BAD_OPTION", 'a Worker cannot open an engine of its own; use createWorkflowRunner of "perdure/cloudflare"')
  },
}

/** Defines a workflow, as elsewhere. What it says about flow control is checked when the runner is created. */
export const workflow = defineWorkflow as typeof checkedWorkflow

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
