import type { DoAsk } from "./ask.ts"
import type { InstanceInfo, WorkflowLog } from "./context.ts"
import type { Limits } from "./limits.ts"
import type { AnyWorkflow } from "./workflow.ts"
import type { ChildStart } from "./workflow-context.ts"

/** What an execution needs of whoever drives it. */
export interface ExecutionSpec {
  readonly workflow: AnyWorkflow
  readonly info: InstanceInfo
  /** What its random numbers are drawn from. */
  readonly seed: string
  readonly limits: Limits
  readonly log: WorkflowLog
  /** Runs workflow code in its scope. */
  enter(run: () => void): void
  /** Throws where asking is wrong, such as inside a step. */
  guard(): void
  /** The function of the step that starts a child. */
  startChild(start: ChildStart): DoAsk["fn"]
  reachChild(instance: string): ChildReach
  /** Something was asked for, given up or came to its end. */
  onActivity(): void
}

/** What workflow code may do to a child; each is the function of a step. */
export interface ChildReach {
  readonly sendEvent: (type: string, payload: unknown) => DoAsk["fn"]
  readonly cancel: (reason: string | undefined) => DoAsk["fn"]
}
