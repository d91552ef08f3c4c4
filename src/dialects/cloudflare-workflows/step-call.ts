import { PerdureError } from "../../core/errors.ts"
import { runningWorkflow } from "./running-code.ts"

/** Calls `fn` as a step where workflow code calls, so that replay gets the recorded answer; elsewhere directly. The error is that of `fn`. */
export async function asStep<T>(name: string, fn: () => Promise<T>): Promise<T> {
  const ctx = runningWorkflow()
  if (ctx === undefined) return fn()
  try {
    return await ctx.do(name.slice(0, 256), fn, { retry: (error, attempt) => attempt < 5 && isTransient(error) && 1_000 * attempt })
  } catch (error) {
    if (PerdureError.is(error, "STEP_FAILED")) throw error.cause
    throw error
  }
}

function isTransient(error: unknown): boolean {
  return PerdureError.is(error, "STORE_UNREACHABLE") || PerdureError.is(error, "UNREACHABLE")
}
