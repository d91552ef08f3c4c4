import { checkArguments } from "../../core/arguments/argument.ts"
import { clientArguments, otherClientArguments, startBetween } from "../../core/arguments/client-arguments.ts"
import { messageOf } from "../../core/values/error-text.ts"
import { PerdureError } from "../../core/errors.ts"
import { checkId } from "../../core/workflow/input-limits.ts"
import type { AnyWorkflow, EventMap } from "../../core/workflow/workflow.ts"
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
} from "../../client-api/client-api.ts"
import type { LimitControl } from "../../client-api/limit-control.ts"
import type { ScheduleClient } from "../../client-api/schedule-client.ts"
import { decodeAnswer, encodeCall, type InstanceMethod } from "../objects/instance-rpc-methods.ts"
import { type ObjectCalls, ObjectHandle, refuseTransaction } from "./object-handle.ts"
import { currentCaller } from "../objects/caller-scope.ts"
import type { ScheduleMethod } from "../objects/schedule-object.ts"
import type { ObjectNamespace } from "../platform/platform.ts"
import { stubOf } from "../objects/object-rpc.ts"

/** No instance can have this name; whatever object has it knows the code, and keeps nothing. */
const anyObject = "$code"

interface Where {
  /** Where the instance is to live, such as `"weur"`; the platform takes it as a wish. */
  readonly locationHint?: string
}

/** Options of `start` on Durable Objects. A `transaction` is refused there: `NO_TRANSACTIONS`. */
export interface EdgeStartOptions<In> extends StartOptions<In>, Where {}

/** A client that can also say where an instance is to live. */
export interface EdgeClient extends Client {
  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W, Where>): Promise<HandleOf<W>>
}

/** What is asked of all instances together, and of what is no instance. */
export interface IndexApi {
  list(filter: ListFilter): Promise<ListPage>
  count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>>
  changes(cursor: string | undefined): Changes
  readonly schedules: ScheduleClient
  readonly limits: LimitControl
}

/** A client of the objects behind a binding. It keeps nothing for long: one may be made for each request. */
export class ObjectClient implements Client, ObjectCalls {
  readonly #namespace: ObjectNamespace
  readonly #overviews: IndexApi
  readonly #idLengthMax: number | undefined

  static {
    checkArguments(this.prototype, clientArguments, otherClientArguments)
  }

  constructor(namespace: ObjectNamespace, overviews: IndexApi, idLengthMax?: number) {
    this.#namespace = namespace
    this.#overviews = overviews
    this.#idLengthMax = idLengthMax
  }

  get schedules(): ScheduleClient {
    return this.#overviews.schedules
  }

  get limits(): LimitControl {
    return this.#overviews.limits
  }

  now(): number {
    return Date.now()
  }

  async call(id: string, method: InstanceMethod, args: readonly unknown[], locationHint?: string): Promise<unknown> {
    // What is no id may be the name of an object that is no instance.
    checkId(id, this.#idLengthMax)
    return this.#ask(id, method, args, locationHint)
  }

  async #ask(name: string, method: string, args: readonly unknown[], locationHint?: string): Promise<unknown> {
    let answer: string
    try {
      answer = await stubOf(this.#namespace, name, { locationHint }).ask(name, method, encodeCall(args), currentCaller())
    } catch (cause) {
      if (PerdureError.is(cause)) throw cause
      throw new PerdureError("UNREACHABLE", `the object of instance "${name}" did not answer; try again`, { details: { instance: name }, cause })
    }
    return decodeAnswer(answer)
  }

  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  async start(workflow: AnyWorkflow | string, options: EdgeStartOptions<unknown> = {}): Promise<Handle> {
    return this.get(await this.#start(workflow, options))
  }

  async #start(workflow: AnyWorkflow | string, { locationHint, transaction, ...options }: EdgeStartOptions<unknown>): Promise<string> {
    refuseTransaction(transaction)
    const { id = crypto.randomUUID() } = options
    return (await this.call(id, "start", [nameOf(workflow), { ...options, ...versionOf(workflow) }], locationHint)) as string
  }

  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  async startBatch(items: readonly BatchItem[], { transaction }: BatchOptions = {}): Promise<readonly BatchResult[]> {
    refuseTransaction(transaction)
    return startBetween(items, (startable) => this.#startEach(startable))
  }

  #startEach(items: readonly BatchItem[]): Promise<readonly BatchResult[]> {
    const begun = new Map<string, Promise<BatchResult>>()
    return Promise.all(
      items.map((item) => {
        // An id that comes twice is the first one's.
        const before = item.id === undefined ? undefined : begun.get(item.id)
        const result = before ? before.then(() => this.#startItem(item)) : this.#startItem(item)
        if (item.id !== undefined) begun.set(item.id, result)
        return result
      }),
    )
  }

  async #startItem({ workflow, ...options }: BatchItem): Promise<BatchResult> {
    try {
      return { id: await this.#start(workflow, options), created: true }
    } catch (error) {
      const cause = PerdureError.is(error) ? error : new PerdureError("INTERNAL_ERROR", `it could not be started: ${messageOf(error)}`, { cause: error })
      return { id: options.id ?? "", created: false, error: cause }
    }
  }

  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<Handle> {
    refuseTransaction(options.transaction)
    await this.call(options.id, "sendOrStart", [nameOf(workflow), { ...options, ...versionOf(workflow) }])
    return this.get(options.id)
  }

  async workflows(): Promise<readonly WorkflowInfo[]> {
    return (await this.#ask(anyObject, "workflows", [])) as readonly WorkflowInfo[]
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  get(first: AnyWorkflow | string, second?: string): Handle {
    return new ObjectHandle(this, typeof first === "string" ? first : (second ?? ""))
  }

  list(filter: ListFilter = {}): Promise<ListPage> {
    return this.#overviews.list(filter)
  }

  count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    return this.#overviews.count(filter, by)
  }

  changes(cursor?: string): Changes {
    return this.#overviews.changes(cursor)
  }

  async callSchedule(name: string, id: string, method: ScheduleMethod, args: readonly unknown[]): Promise<unknown> {
    checkId(id, this.#idLengthMax)
    let answer: string
    try {
      answer = await stubOf(this.#namespace, name).askSchedule(id, method, encodeCall(args))
    } catch (cause) {
      if (PerdureError.is(cause)) throw cause
      throw new PerdureError("UNREACHABLE", `the object of schedule "${id}" did not answer; try again`, { details: { schedule: id }, cause })
    }
    return decodeAnswer(answer)
  }

  /** What the objects say their index shards are. */
  async layout(): Promise<object> {
    return (await this.#ask(anyObject, "layout", [])) as object
  }

  describe(id: string): Promise<InstanceDescription> {
    return this.get(id).describe()
  }

  why(id: string): Promise<Why> {
    return this.get(id).why()
  }

  pause(id: string, reason?: string): Promise<ControlResult> {
    return this.get(id).pause(reason)
  }

  resume(id: string): Promise<ControlResult> {
    return this.get(id).resume()
  }

  cancel(id: string, reason?: string): Promise<ControlResult> {
    return this.get(id).cancel(reason)
  }

  terminate(id: string, options?: string | TerminateOptions): Promise<ControlResult> {
    return this.get(id).terminate(options)
  }

  restart(id: string, options?: RestartOptions): Promise<ControlResult> {
    return this.get(id).restart(options)
  }

  fork(id: string, options: ForkOptions): Promise<Handle> {
    return this.get(id).fork(options)
  }

  query(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.get(id).query(name, ...args)
  }

  update(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.get(id).update(name, ...args)
  }

  delete(id: string): Promise<DeleteResult> {
    return this.get(id).delete()
  }
}

function nameOf(workflow: AnyWorkflow | string): string {
  return typeof workflow === "string" ? workflow : workflow.name
}

/** Who has a definition knows the workflow, whatever the object has. */
function versionOf(workflow: AnyWorkflow | string): Pick<StartOptions<unknown>, "version" | "allowUnknown"> {
  return typeof workflow === "string" ? {} : { version: workflow.version, allowUnknown: true }
}
