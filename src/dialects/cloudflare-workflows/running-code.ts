import { AsyncLocalStorage } from "node:async_hooks"
import type { Context } from "../../core/workflow/context.ts"

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
