// Of what users compile with it: their target may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import { checkArguments } from "../core/arguments/argument.ts"
import { clientArguments, otherClientArguments, startBetween } from "../core/arguments/client-arguments.ts"
import type { AnyWorkflow, EventMap } from "../core/workflow/workflow.ts"
import type { PerdureError } from "../core/errors.ts"
import type {
  BatchItem,
  BatchItemsOf,
  BatchOptions,
  BatchResult,
  Changes,
  Client,
  ControlResult,
  DeleteResult,
  ForkOptions,
  Handle,
  HandleOf,
  InstanceDescription,
  InstanceSummary,
  ListFilter,
  ListPage,
  RestartOptions,
  SendOrStartOptions,
  SendOrStartOptionsOf,
  StartArgumentsOf,
  StartOptions,
  TerminateOptions,
  Why,
  WorkflowInfo,
} from "../client-api/client-api.ts"
import { errorOf, valueIn } from "./response.ts"
import { ChangeStreamConnection } from "./change-stream-connection.ts"
import { InstanceCalls } from "./instance-calls.ts"
import type { RetryPacing } from "./retry-pacing.ts"
import { RemoteHandle } from "./remote-handle.ts"
import { RemoteLimits } from "./remote-limits.ts"
import { RemoteSchedules } from "./remote-schedules.ts"
import { randomId } from "./request-id.ts"
import { type ConnectOptions, Transport } from "./transport.ts"
import { filterQuery, given, refuseTransaction, startBody, summaryFrom } from "./error-messages.ts"

const batchMax = 1_000

/** A client of an engine that another process has, over HTTP. */
export class RemoteClient implements Client, AsyncDisposable {
  readonly schedules: RemoteSchedules
  readonly limits: RemoteLimits
  readonly #transport: Transport
  readonly #calls: InstanceCalls

  static {
    checkArguments(this.prototype, clientArguments, otherClientArguments)
  }

  constructor(url: string, options: ConnectOptions, pace: RetryPacing) {
    this.#transport = new Transport(url, options, pace)
    this.#calls = new InstanceCalls(this.#transport)
    this.limits = new RemoteLimits(this.#transport)
    this.schedules = new RemoteSchedules(this.#transport, (id) => this.get(id))
  }

  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  async start(workflow: AnyWorkflow | string, options: StartOptions<unknown> = {}): Promise<Handle> {
    const answer = await this.#transport.exchange({
      method: "POST",
      path: ["workflows"],
      body: startBody(workflow, named(options)),
      isRepeatable: true,
    })
    return this.get((valueIn(answer) as { readonly id: string }).id)
  }

  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  async startBatch(items: readonly BatchItem[], { transaction }: BatchOptions = {}): Promise<readonly BatchResult[]> {
    refuseTransaction(transaction)
    return startBetween(items, (startable) => this.#startAll(startable))
  }

  async #startAll(items: readonly BatchItem[]): Promise<readonly BatchResult[]> {
    const results: BatchResult[] = []
    for (let from = 0; from < items.length; from += batchMax) {
      const instances = items.slice(from, from + batchMax).map(({ workflow, ...options }) => startBody(workflow, named(options)))
      const answer = await this.#transport.exchange({ method: "POST", path: ["workflows", "batch"], body: { instances }, isRepeatable: true })
      const { instances: started } = valueIn(answer) as { readonly instances: readonly (BatchResult | (object & { readonly created: false }))[] }
      results.push(...(started.map((one) => (one.created ? one : { ...one, error: errorOf(one) as PerdureError })) as BatchResult[]))
    }
    return results
  }

  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<Handle> {
    const { id, event, payload, eventId = randomId(), ...start } = options
    const body = { ...given({ payload }), eventId, start: startBody(workflow, start) }
    const answer = await this.#transport.exchange({ method: "PUT", path: ["workflows", id, "events", event], body, isRepeatable: true })
    await this.#calls.settleSent(id, eventId, answer)
    return this.get(id)
  }

  async workflows(): Promise<readonly WorkflowInfo[]> {
    const answer = await this.#transport.exchange({ method: "GET", path: ["workflows"], query: { limit: 0 }, isRepeatable: true })
    const { workflows } = valueIn(answer) as { readonly workflows: readonly WorkflowInfo[] }
    return workflows.map(({ name, version, versions }) => ({ name, version, versions }))
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  get(first: AnyWorkflow | string, second?: string): Handle {
    return new RemoteHandle(this.#transport, this.#calls, typeof first === "string" ? first : (second ?? ""))
  }

  async list(filter: ListFilter = {}): Promise<ListPage> {
    const answer = await this.#transport.exchange({ method: "GET", path: ["instances"], query: filterQuery(filter), isRepeatable: true })
    const { instances, ...rest } = valueIn(answer) as { readonly instances: readonly (Omit<InstanceSummary, "workflow"> & { readonly type: string })[] }
    return { ...rest, instances: instances.map(summaryFrom) }
  }

  async count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    const answer = await this.#transport.exchange({ method: "GET", path: ["workflows", "counts"], query: filterQuery(filter), isRepeatable: true })
    const counts = valueIn(answer) as { readonly byStatus: Record<string, number>; readonly byWorkflow: Record<string, number> }
    return by === "status" ? counts.byStatus : counts.byWorkflow
  }

  describe(id: string): Promise<InstanceDescription> {
    return this.#calls.describe(id)
  }

  why(id: string): Promise<Why> {
    return this.#calls.why(id)
  }

  pause(id: string, reason?: string): Promise<ControlResult> {
    return this.#calls.pause(id, reason)
  }

  resume(id: string): Promise<ControlResult> {
    return this.#calls.resume(id)
  }

  cancel(id: string, reason?: string): Promise<ControlResult> {
    return this.#calls.cancel(id, reason)
  }

  terminate(id: string, options: string | TerminateOptions = {}): Promise<ControlResult> {
    return this.#calls.terminate(id, typeof options === "object" ? options : { reason: options })
  }

  restart(id: string, options: RestartOptions = {}): Promise<ControlResult> {
    return this.#calls.restart(id, options)
  }

  async fork(id: string, options: ForkOptions): Promise<Handle> {
    return this.get(await this.#calls.fork(id, options))
  }

  query(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#calls.query(id, name, args)
  }

  update(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#calls.update(id, name, args)
  }

  delete(id: string): Promise<DeleteResult> {
    return this.#calls.delete(id)
  }

  changes(cursor?: string): Changes {
    return new ChangeStreamConnection(this.#transport, ["stream"], cursor)
  }

  /** Ends what is under way: calls reject with ENGINE_CLOSED, and streams end. */
  close(): Promise<void> {
    this.#transport.close()
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Whatever is sent again can be told from what others send. */
function named(options: StartOptions<unknown>): StartOptions<unknown> {
  return { id: randomId(), requestId: randomId(), ...given(options) }
}
