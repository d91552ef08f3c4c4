import type { InstanceInfo, WorkflowLog } from "../workflow/context.ts"
import type { ChildEffects } from "./child-handles.ts"
import type { Limits } from "../workflow/input-limits.ts"
import type { AnyWorkflow } from "../workflow/workflow.ts"

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
  /** Starts, signals and cancels children of the run. */
  readonly childEffects: ChildEffects
  /** Called when the code asked for something, gave something up, or came to its end. */
  onActivity(): void
}
