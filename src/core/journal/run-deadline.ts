import type { InstanceState } from "./instance-state.ts"

/** Whether rollbacks run, or are about to run for a terminate. Then only a terminate still changes how the run ends. */
export function isUnwinding({ rollingBack, terminating }: InstanceState): boolean {
  return rollingBack || terminating !== undefined
}

/** When the run's time is over: the end of the cancel's grace, or else the run's timeout. A run that failed or is terminated may take any time for its rollbacks. */
export function runDeadlineAt({ cancel, timeoutAt, rollingBack, terminating }: InstanceState, cancelGraceMs: number): number {
  if (terminating) return Infinity
  if (cancel) return cancel.graceFrom === undefined ? Infinity : cancel.graceFrom + cancelGraceMs
  return rollingBack ? Infinity : (timeoutAt ?? Infinity)
}
