import { PerdureError } from "../core/errors.ts"
import { messageOf } from "../core/values/error-text.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { BatchItem, BatchResult, StartOptions } from "./client-api.ts"

/** Starts each item of a batch by itself. `start` returns the id of the instance. An item that fails does not hinder the other items. */
export function startEach(
  items: readonly BatchItem[],
  start: (workflow: AnyWorkflow | string, options: StartOptions<unknown>) => Promise<string>,
): Promise<readonly BatchResult[]> {
  const startItem = async ({ workflow, ...options }: BatchItem): Promise<BatchResult> => {
    try {
      return { id: await start(workflow, options), created: true }
    } catch (error) {
      return { id: options.id ?? "", created: false, error: startFailure(error) }
    }
  }
  const started = new Map<string, Promise<BatchResult>>()
  return Promise.all(
    items.map((item) => {
      if (item.id === undefined) return startItem(item)
      // Two items may have one id. The second start waits for the first, so that the first item gets the id.
      const result = started.get(item.id)?.then(() => startItem(item)) ?? startItem(item)
      started.set(item.id, result)
      return result
    }),
  )
}

/** The error of an item whose start threw. A schema or a store may throw anything. */
export function startFailure(cause: unknown): PerdureError {
  return PerdureError.is(cause) ? cause : new PerdureError("INTERNAL_ERROR", `the instance could not be started: ${messageOf(cause)}`, { cause })
}
