import { type Measured, summarise } from "./measurement.ts"
import type { Result } from "./section.ts"
import { workloads } from "./section-list.ts"
import { type Target, targetCalled } from "./target.ts"
import type { Workload } from "./workload.ts"

/** A result with its workload and target: figures, or the reason why there are none. */
export interface Outcome {
  readonly workload: Workload
  readonly target: Target
  readonly figures?: readonly Measured[]
  readonly failure?: string
}

/** Makes an outcome of a result. A workload with impossible numbers counts as failed. */
export function outcomeOf(result: Result): Outcome {
  const workload = workloads.find(({ id }) => id === result.workload)
  if (workload === undefined) throw new Error(`there are results of ${result.workload}, which is no workload any more; measure again`)
  const target = targetCalled(result.target)
  if ("failure" in result) return { workload, target, failure: result.failure }
  try {
    return { workload, target, figures: summarise(workload, result.samples, target) }
  } catch (error) {
    return { workload, target, failure: error instanceof Error ? error.message : String(error) }
  }
}
