import type { DoAsk } from "../../core/execution/ask.ts"
import { mergeRetry, nextRetryMs } from "../../core/workflow/retry-policy.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { RunnerContext } from "../runner/runner-context.ts"

/** Asks the policy of engine, workflow and step for the time until the next attempt. `failures`: how many attempts have failed. */
export function retryDelay({ host, settings }: RunnerContext, workflow: AnyWorkflow, ask: DoAsk | undefined, failures: number, error: unknown) {
  const policy = mergeRetry(settings.retry, workflow.options.retry, ask?.options?.retry)
  return nextRetryMs(policy, { failures, error, random: () => (host.randomBytes(1)[0] ?? 0) / 256 })
}
