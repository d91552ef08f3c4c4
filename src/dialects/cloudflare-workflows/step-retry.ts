import type { RetryFunction } from "../../core/workflow/retry-policy.ts"
import { cloudflareDurationMs } from "./cloudflare-duration.ts"
import { backedOffMs, type ResolvedStepConfig, type WorkflowDelayFunction, type WorkflowDynamicDelayContext, type WorkflowStepContext } from "./step-config.ts"
import { NonRetryableDelayError, WorkflowFatalError } from "./workflow-errors.ts"

const delayFunctionMsMax = 5_000

/** The native retry function of a step. `contextOf` gives what a delay function sees after so many failures; `label` is `<name>-<count>`. */
export function stepRetry({ retries }: ResolvedStepConfig, label: string, contextOf: (attempt: number) => WorkflowStepContext): RetryFunction {
  const { limit, delay, backoff } = retries
  const delayMs = typeof delay === "function" ? undefined : cloudflareDurationMs(delay)
  return (error, failures) => {
    if (failures > limit || error instanceof WorkflowFatalError || isMarkedNonRetryable(error)) return false
    if (typeof delay !== "function") return backedOffMs(backoff, delayMs ?? 0, failures)
    // TypeScript 5 compares the two types of context only field by field.
    const { step, attempt, config } = contextOf(failures)
    const asked = delayOf(delay, { ctx: { step, attempt, config }, error: error as Error }, label)
    return asked.then((baseMs) => backedOffMs(backoff, baseMs, failures))
  }
}

/** Over RPC an error may lose its name: then its message begins with it. */
function isMarkedNonRetryable(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NonRetryableError")
}

async function delayOf(delay: WorkflowDelayFunction, input: WorkflowDynamicDelayContext, label: string): Promise<number> {
  // The events show what the attempt threw, which is the cause.
  const fail = (why: string) => new NonRetryableDelayError(`The delay function for step "${label}" ${why}`, { cause: input.error })
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooSlow = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(fail(`did not return within ${delayFunctionMsMax / 1_000} seconds`)), delayFunctionMsMax)
  })
  let answer: unknown
  try {
    answer = await Promise.race([callDelay(delay, input), tooSlow])
  } catch (error) {
    if (error instanceof NonRetryableDelayError) throw error
    throw fail(`threw an error: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    clearTimeout(timer)
  }
  const ms = cloudflareDurationMs(answer)
  if (!Number.isFinite(ms) || ms < 0) throw fail('returned an invalid delay value (expected a number of ms or a duration string like "30 seconds")')
  return ms
}

async function callDelay(delay: WorkflowDelayFunction, input: WorkflowDynamicDelayContext): Promise<unknown> {
  return delay(input)
}
