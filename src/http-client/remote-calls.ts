import type {
  BatchItem,
  BatchOptions,
  BatchResult,
  InstanceSummary,
  ListFilter,
  ListPage,
  SendOrStartOptions,
  StartOptions,
  WorkflowInfo,
} from "../client-api/client-api.ts"
import type { ClientCalls } from "../client-api/client-calls.ts"
import type { QueueInfo } from "../client-api/task-control.ts"
import type { PerdureError } from "../core/errors.ts"
import type { AnyWorkflow, EventMap } from "../core/workflow/workflow.ts"
import { filterQuery, withoutUndefined, refuseTransaction, startBody, summaryFrom } from "./wire-bodies.ts"
import { RemoteInstanceCalls } from "./remote-instance-calls.ts"
import { randomId } from "./request-id.ts"
import { errorOf, valueIn } from "./response.ts"

const batchMax = 1_000

/** The calls of a client over HTTP. */
export class RemoteCalls extends RemoteInstanceCalls implements ClientCalls {
  async start(workflow: AnyWorkflow | string, options: StartOptions<unknown>): Promise<string> {
    const answer = await this.transport.exchange({
      method: "POST",
      path: ["workflows"],
      body: startBody(workflow, repeatable(options)),
      isRepeatable: true,
    })
    return (valueIn(answer) as { readonly id: string }).id
  }

  async startBatch(items: readonly BatchItem[], { transaction }: BatchOptions): Promise<readonly BatchResult[]> {
    refuseTransaction(transaction)
    const results: BatchResult[] = []
    for (let from = 0; from < items.length; from += batchMax) {
      const instances = items.slice(from, from + batchMax).map(({ workflow, ...options }) => startBody(workflow, repeatable(options)))
      const answer = await this.transport.exchange({ method: "POST", path: ["workflows", "batch"], body: { instances }, isRepeatable: true })
      const { instances: started } = valueIn(answer) as { readonly instances: readonly (BatchResult | (object & { readonly created: false }))[] }
      results.push(...(started.map((item) => (item.created ? item : { ...item, error: errorOf(item) as PerdureError })) as BatchResult[]))
    }
    return results
  }

  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<void> {
    const { id, event, payload, eventId = randomId(), ...start } = options
    const body = { ...withoutUndefined({ payload }), eventId, start: startBody(workflow, start) }
    const answer = await this.transport.exchange({ method: "PUT", path: ["workflows", id, "events", event], body, isRepeatable: true })
    await this.requireSent(id, eventId, answer)
  }

  async workflows(): Promise<readonly WorkflowInfo[]> {
    const answer = await this.transport.exchange({ method: "GET", path: ["workflows"], query: { limit: 0 }, isRepeatable: true })
    const { workflows } = valueIn(answer) as { readonly workflows: readonly WorkflowInfo[] }
    return workflows.map(({ name, version, versions }) => ({ name, version, versions }))
  }

  async queues(): Promise<readonly QueueInfo[]> {
    const answer = await this.transport.exchange({ method: "GET", path: ["queues"], isRepeatable: true })
    return (valueIn(answer) as { readonly queues: readonly QueueInfo[] }).queues
  }

  async list(filter: ListFilter): Promise<ListPage> {
    const answer = await this.transport.exchange({ method: "GET", path: ["instances"], query: filterQuery(filter), isRepeatable: true })
    const { instances, ...rest } = valueIn(answer) as { readonly instances: readonly (Omit<InstanceSummary, "workflow"> & { readonly type: string })[] }
    return { ...rest, instances: instances.map(summaryFrom) }
  }

  async count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    const answer = await this.transport.exchange({ method: "GET", path: ["workflows", "counts"], query: filterQuery(filter), isRepeatable: true })
    const counts = valueIn(answer) as { readonly byStatus: Record<string, number>; readonly byWorkflow: Record<string, number> }
    return by === "status" ? counts.byStatus : counts.byWorkflow
  }
}

/** Adds random ids to a start, so that the server recognises the request if it is sent again. */
function repeatable(options: StartOptions<unknown>): StartOptions<unknown> {
  return { id: randomId(), requestId: randomId(), ...withoutUndefined(options) }
}
