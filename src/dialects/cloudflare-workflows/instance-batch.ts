import type { BatchItem, BatchResult, Client } from "../../client-api/client-api.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"

export const batchMax = 100

/** Why an item of a batch had no success: the codes and messages of Cloudflare Workflows. */
export const batchErrors = {
  exists: { code: 10405, message: "workflows.api.error.instance.already_exists" },
  twice: { code: 10415, message: "workflows.api.error.instance.duplicate_in_batch" },
  notFound: { code: 10400, message: "workflows.api.error.instance.not_found" },
  internal: { code: 10001, message: "workflows.api.error.internal_server" },
}

/** Starts the first item of each id. `"twice"`: the batch has that id before. */
export async function startEachOnce(client: Client, items: readonly (BatchItem & { readonly id: string })[]): Promise<readonly (BatchResult | "twice")[]> {
  const first = new Map(items.toReversed().map(({ id }, index) => [id, items.length - 1 - index]))
  const wanted = items.filter(({ id }, index) => first.get(id) === index)
  const results = await client.startBatch<(AnyWorkflow | string)[]>(wanted)
  const byId = new Map(wanted.map(({ id }, index) => [id, results[index]]))
  return items.map(({ id }, index) => (first.get(id) === index ? byId.get(id) : undefined) ?? "twice")
}
