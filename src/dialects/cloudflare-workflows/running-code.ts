import { AsyncLocalStorage } from "node:async_hooks"
import type { Asks, Context } from "../../core/workflow/context.ts"

/**
 * The native context of the workflow code that is running now. It is absent inside the callback of a step, where the engine calls outside of this
 * storage, and outside of workflows. Bindings look here: what workflow code asks of a binding becomes a step.
 */
const running = new AsyncLocalStorage<Context>()

export function runAsWorkflow<T>(ctx: Context, run: () => T): T {
  return running.run(ctx, run)
}

export function runningWorkflow(): Context | undefined {
  return running.getStore()
}

/** The callback of a step that is running now, and what it asks with: a step that it asks for is inside its own step. */
interface RunningCallback {
  /** The `step` object of its instance: the callback may call other instances, which have nothing to do with it. */
  readonly of: object
  readonly asks: Asks
  /** The callback undoes the step. */
  readonly isRollback: boolean
}

const runningCallback = new AsyncLocalStorage<RunningCallback>()

export function runAsCallback<T>(callback: RunningCallback, run: () => T): T {
  return runningCallback.run(callback, run)
}

/** Undefined: no callback of this `step` object is running. */
export function callbackOf(step: object): RunningCallback | undefined {
  const running = runningCallback.getStore()
  return running?.of === step ? running : undefined
}
