import type { Duration } from "../core/time/duration.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"

/** Changes the limits of workflows while they run. The numbers are in the store, so they hold for all processes and survive restarts. */
export interface LimitControl {
  /** Sets limits. A higher limit admits waiting instances at once. A lower limit stops no running instance. Throws `UNKNOWN_LIMIT`. */
  set(workflow: AnyWorkflow | string, limits: LimitSettings): Promise<void>
  /** Returns the limits that hold now, and the limits in the code if they differ. */
  get(workflow: AnyWorkflow | string): Promise<WorkflowLimitReport>
  /** Sets all limits back to the numbers in the code. */
  reset(workflow: AnyWorkflow | string): Promise<void>
}

/** The numbers to set in place of those in the code. */
export interface LimitSettings {
  /**
   * How many instances may run at a time. With 0 no instance begins; `Infinity` removes the limit. If the workflow has several limits, give an object by
   * name. Limits without a name are given as a list: the limit of the whole workflow comes first, then the limits by key. Undefined leaves a limit as it is.
   */
  readonly concurrency?: number | readonly (number | undefined)[] | Readonly<Record<string, number | undefined>>
  /** How many instances may start in a period. */
  readonly rateLimit?: { readonly limit: number; readonly per: Duration }
}

/** The limits of a workflow. */
export interface WorkflowLimitReport {
  /** How many instances may run at a time. Limits without a name come first, in the order of the code, then the others by name. */
  readonly concurrency: readonly ConcurrencyReport[]
  /** How many instances may start in a period. Absent if there is no such limit. */
  readonly rateLimit?: RateReport
}

/** One limit of instances that run at a time. */
export interface ConcurrencyReport {
  /** Its name, if the code gives it one. */
  readonly name?: string
  /** The number that holds. */
  readonly limit: number
  /** The number in the code, if another one is set. */
  readonly declared?: number
}

/** The limit of instances that start in a period. */
export interface RateReport {
  /** The number that holds. */
  readonly limit: number
  /** The period, in milliseconds. */
  readonly perMs: number
  /** The number in the code, if another one is set. */
  readonly declared?: { readonly limit: number; readonly perMs: number }
}
