import { keptAtRest } from "../../core/workflow/flow-options.ts"
import type { FlowTraits } from "../../ports/flow-control.ts"

/** What follows from the traits that an instance has; how it gets them is in flow-control.ts. */

/** One with limits may stand in line beyond its time: so its row says when it ends in any case. */
export function deadlineOf(flow: FlowTraits | undefined, at: number | undefined): { readonly deadlineAt: number } | undefined {
  return flow?.limits === undefined || at === undefined ? undefined : { deadlineAt: at }
}

/** Whether it leaves memory when it sleeps or waits, so that others may have its slots. */
export function givesBackAtRest(flow: FlowTraits | undefined): boolean {
  const limits = flow?.limits
  return limits !== undefined && limits.slice(keptAtRest(limits)).some(({ kind }) => kind === "concurrency")
}
