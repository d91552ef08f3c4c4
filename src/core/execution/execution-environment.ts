import type { InstanceInfo, WorkflowLog } from "../workflow/context.ts"
import type { ChildEffects } from "./child-handles.ts"
import type { Limits } from "../workflow/input-limits.ts"
import type { AnyWorkflow } from "../workflow/workflow.ts"

/** The driver of an execution, as the execution uses it. */
export interface ExecutionEnvironment {
  readonly workflow: AnyWorkflow
  readonly info: InstanceInfo
  /** The seed of the run's random numbers. */
  readonly seed: string
  readonly limits: Limits
  readonly log: WorkflowLog
  /** Runs workflow code in the scope of the instance. */
  enter(run: () => void): void
  /** Throws if the running code must not ask, such as a step's function. */
  guard(): void
  /** Starts, signals and cancels children of the run. */
  readonly childEffects: ChildEffects
  /** Called when the code has asked for something, has given an ask up, or has ended. */
  onActivity(): void
}
