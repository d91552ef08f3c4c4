import { keptAtRest } from "../../core/workflow/flow-options.ts"
import type { FlowTraits } from "../../ports/flow-control.ts"

/** The deadline in the row of an instance with limits. Without it an instance that is queued for a slot would not be claimed when its timeout comes. */
export function deadlineOf(flow: FlowTraits | undefined, at: number | undefined): { readonly deadlineAt: number } | undefined {
  return flow?.limits === undefined || at === undefined ? undefined : { deadlineAt: at }
}

/** Whether the instance leaves memory when it sleeps or waits, so that other instances may have its slots. */
export function releasesSlotsAtRest(flow: FlowTraits | undefined): boolean {
  const limits = flow?.limits
  return limits !== undefined && limits.slice(keptAtRest(limits)).some(({ kind }) => kind === "concurrency")
}
