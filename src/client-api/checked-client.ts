import { checkArguments } from "../core/arguments/argument.ts"
import { clientArguments, otherClientArguments, startValidItems } from "../core/arguments/client-arguments.ts"
import type { AnyWorkflow, EventMap } from "../core/workflow/workflow.ts"
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
} from "./client-api.ts"
import type { ClientCalls } from "./client-calls.ts"
import { InstanceHandle } from "./instance-handle.ts"
import type { LimitControl } from "./limit-control.ts"
import type { ScheduleClient } from "./schedule-client.ts"
import type { QueueInfo, TaskControl } from "./task-control.ts"

/** The methods that every client has: the engine, the HTTP client and the client of Durable Objects. They check arguments, and then make the call of the client. */
export abstract class CheckedClient implements Client {
  abstract readonly schedules: ScheduleClient
  abstract readonly limits: LimitControl
  abstract readonly tasks: TaskControl
  readonly #calls: ClientCalls

  static {
    checkArguments(this.prototype, clientArguments, otherClientArguments)
  }

  constructor(calls: ClientCalls) {
    this.#calls = calls
  }

  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  async start(workflow: AnyWorkflow | string, options: StartOptions<unknown> = {}): Promise<Handle> {
    return this.#handle(workflow, await this.#calls.start(workflow, options))
  }

  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  startBatch(items: readonly BatchItem[], options: BatchOptions = {}): Promise<readonly BatchResult[]> {
    return startValidItems(items, (startable) => this.#calls.startBatch(startable, options))
  }

  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<Handle> {
    await this.#calls.sendOrStart(workflow, options)
    return this.#handle(workflow, options.id)
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  get(first: AnyWorkflow | string, second?: string): Handle {
    return typeof first === "string" ? new InstanceHandle(() => this.#calls, first) : this.#handle(first, second ?? "")
  }

  #handle(workflow: AnyWorkflow | string, id: string): Handle {
    if (typeof workflow !== "string") this.#calls.remember?.(workflow)
    return new InstanceHandle(() => this.#calls, id)
  }

  workflows(): Promise<readonly WorkflowInfo[]> {
    return this.#calls.workflows()
  }

  queues(): Promise<readonly QueueInfo[]> {
    return this.#calls.queues()
  }

  list(filter: ListFilter = {}): Promise<ListPage> {
    return this.#calls.list(filter)
  }

  count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    return this.#calls.count(filter, by)
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
    return this.#calls.changes(undefined, cursor)
  }
}
