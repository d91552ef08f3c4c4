import type { Duration } from "../core/time/duration.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"

/** Changes the limits of workflows while they run: in the store, so that it holds for all processes at once and over restarts. */
export interface LimitControl {
  /** Those let in by a higher limit begin at once; those who are over a lower one may finish. Throws `UNKNOWN_LIMIT`. */
  set(workflow: AnyWorkflow | string, limits: LimitSettings): Promise<void>
  /** The limits that hold now, and what the code says where that is another. */
  get(workflow: AnyWorkflow | string): Promise<WorkflowLimitReport>
  /** Back to what the code says. */
  reset(workflow: AnyWorkflow | string): Promise<void>
}

/** Numbers to set in place of those that the code says. */
export interface LimitSettings {
  /**
   * 0: nobody begins. `Infinity`: no limit. Of several: by name; those without one in a list, that of the whole workflow before those of
   * keys. Those that are undefined stay as they are.
   */
  readonly concurrency?: number | readonly (number | undefined)[] | Readonly<Record<string, number | undefined>>
  /** How many may start in a time. */
  readonly rateLimit?: { readonly limit: number; readonly per: Duration }
}

/** The limits of a workflow. */
export interface WorkflowLimitReport {
  /** How many may run at a time: limits without a name in the order of the code, then the others by name. */
  readonly concurrency: readonly ConcurrencyReport[]
  /** How many may start in a time; absent: there is no such limit. */
  readonly rateLimit?: RateReport
}

/** One limit of how many may run at a time. */
export interface ConcurrencyReport {
  /** Its name, if the code gives it one. */
  readonly name?: string
  /** The number that holds. */
  readonly limit: number
  /** What the code says, where something else is set. */
  readonly declared?: number
}

/** The limit of how many may start in a time. */
export interface RateReport {
  /** The number that holds. */
  readonly limit: number
  /** The time, in milliseconds. */
  readonly perMs: number
  /** What the code says, where something else is set. */
  readonly declared?: { readonly limit: number; readonly perMs: number }
}
