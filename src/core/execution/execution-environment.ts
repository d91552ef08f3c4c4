import type { Annotations, AnnotationSource } from "./annotations.ts"
import type { InstanceInfo, WorkflowLog } from "../workflow/context.ts"
import type { Children, ChildHost } from "./child-handles.ts"
import type { Limits } from "../workflow/input-limits.ts"
import type { QueryUpdateHandlers, QueryUpdateHost } from "./query-update-handlers.ts"
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
  /** The children of the run; throws where there can be none. */
  newChildren(source: ChildHost): Children
  /** What the code notes about its instance; throws where it cannot. */
  newAnnotations(source: AnnotationSource): Annotations
  /** What others ask the code, where they may. */
  readonly newQueryUpdateHandlers?: ((source: QueryUpdateHost) => QueryUpdateHandlers) | undefined
  /** Something was asked for, given up or came to its end. */
  onActivity(): void
}
