import type { InstanceState } from "./instance-state.ts"

/** What the run completed is being undone: it comes to its end, and nothing but a terminate changes how. */
export function isUndoing({ rollingBack, terminating }: InstanceState): boolean {
  return rollingBack || terminating !== undefined
}

/** When the time of the run is over: its timeout, or the grace of its cancel. One that failed or is terminated takes its time to undo what it did. */
export function limitAt({ cancel, timeoutAt, rollingBack, terminating }: InstanceState, cancelGraceMs: number): number {
  if (terminating) return Infinity
  if (cancel) return cancel.graceFrom === undefined ? Infinity : cancel.graceFrom + cancelGraceMs
  return rollingBack ? Infinity : (timeoutAt ?? Infinity)
}
