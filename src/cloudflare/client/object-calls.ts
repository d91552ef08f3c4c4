import type {
  BatchItem,
  BatchOptions,
  BatchResult,
  Changes,
  ControlResult,
  DeleteResult,
  ForkOptions,
  HistoryOptions,
  HistoryPage,
  InstanceDescription,
  ListFilter,
  ListPage,
  RestartOptions,
  ResultOptions,
  SendOptions,
  SendOrStartOptions,
  TerminateOptions,
  Why,
  WorkflowInfo,
} from "../../client-api/client-api.ts"
import type { ClientCalls } from "../../client-api/client-calls.ts"
import { startEach } from "../../client-api/start-each.ts"
import type { QueueInfo } from "../../client-api/task-control.ts"
import { definitionOptions, workflowName } from "../../client-api/workflow-reference.ts"
import { PerdureError, ResultTimeoutError } from "../../core/errors.ts"
import type { Status } from "../../core/journal/status.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import { durationMs } from "../../core/time/duration.ts"
import { checkId } from "../../core/workflow/input-limits.ts"
import type { AnyWorkflow, EventMap } from "../../core/workflow/workflow.ts"
import { currentCaller } from "../objects/caller-scope.ts"
import { decodeAnswer, encodeCall, type InstanceMethod } from "../objects/instance-rpc-methods.ts"
import { stubOf } from "../objects/object-rpc.ts"
import type { ObjectNamespace } from "../platform/platform.ts"
import { type IndexClient, PolledChanges } from "./index-client.ts"
import type { EdgeStartOptions } from "./object-client.ts"

/** An object for calls that need the code of the workflows, but no instance. No instance can have this name, and the object stores nothing. */
const codeObject = "$code"
/** The longest time that one RPC call waits for a result. After it the client calls again. */
const waitMsMax = 25_000

/** The calls of a client on the Durable Objects behind a binding, one object for each instance. */
export class ObjectCalls implements ClientCalls {
  readonly #namespace: ObjectNamespace
  readonly #index: Pick<IndexClient, "list" | "count" | "changes" | "queues">

  constructor(namespace: ObjectNamespace, index: Pick<IndexClient, "list" | "count" | "changes" | "queues">) {
    this.#namespace = namespace
    this.#index = index
  }

  async start(workflow: AnyWorkflow | string, { locationHint, transaction, ...options }: EdgeStartOptions<unknown>): Promise<string> {
    refuseTransaction(transaction)
    const { id = crypto.randomUUID() } = options
    return (await this.#callInstance(id, "start", [workflowName(workflow), { ...options, ...definitionOptions(workflow) }], locationHint)) as string
  }

  async startBatch(items: readonly BatchItem[], { transaction }: BatchOptions): Promise<readonly BatchResult[]> {
    refuseTransaction(transaction)
    return startEach(items, (workflow, options) => this.start(workflow, options))
  }

  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<void> {
    refuseTransaction(options.transaction)
    await this.#callInstance(options.id, "sendOrStart", [workflowName(workflow), { ...options, ...definitionOptions(workflow) }])
  }

  async workflows(): Promise<readonly WorkflowInfo[]> {
    return (await this.#callObject(codeObject, "workflows", [])) as readonly WorkflowInfo[]
  }

  /** Asks the index for the names of the queues, and then the object of each queue. */
  queues(): Promise<readonly QueueInfo[]> {
    return this.#index.queues()
  }

  /** The number of index shards, as the code of the objects configures it. */
  async layout(): Promise<object> {
    return (await this.#callObject(codeObject, "layout", [])) as object
  }

  list(filter: ListFilter): Promise<ListPage> {
    return this.#index.list(filter)
  }

  count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    return this.#index.count(filter, by)
  }

  changes(id: string | undefined, cursor: string | undefined): Changes {
    if (id === undefined) return this.#index.changes(cursor)
    return new PolledChanges(cursor, (after) => this.#ask(id, "changes", after))
  }

  async result(id: string, { timeout, signal, rejectWhenStalled }: ResultOptions): Promise<unknown> {
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout, "timeout")
    const until = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs
    for (;;) {
      if (signal?.aborted) throw signal.reason
      const waitMs = Math.max(0, Math.min(until - Date.now(), waitMsMax))
      const waiting = this.#ask<unknown>(id, "result", waitMs, ...(rejectWhenStalled ? [true] : []))
      try {
        return await (signal ? Promise.race([waiting, aborted(signal)]) : waiting)
      } catch (error) {
        if (!PerdureError.is(error, "RESULT_TIMEOUT") || error.details["instance"] !== id) throw error
        if (timeoutMs !== undefined && Date.now() >= until) throw new ResultTimeoutError(id, timeoutMs)
      }
    }
  }

  status(id: string): Promise<Status> {
    return this.#ask(id, "status")
  }

  describe(id: string): Promise<InstanceDescription> {
    return this.#ask(id, "describe")
  }

  steps(id: string): Promise<readonly StepInfo[]> {
    return this.#ask(id, "steps")
  }

  history(id: string, options: HistoryOptions): Promise<HistoryPage> {
    return this.#ask(id, "history", options)
  }

  why(id: string): Promise<Why> {
    return this.#ask(id, "why")
  }

  async sendEvent(id: string, type: string, payload: unknown, options: SendOptions): Promise<void> {
    refuseTransaction(options.transaction)
    return this.#ask(id, "sendEvent", type, payload, options)
  }

  pause(id: string, reason: string | undefined): Promise<ControlResult> {
    return this.#ask(id, "pause", reason)
  }

  resume(id: string): Promise<ControlResult> {
    return this.#ask(id, "resume")
  }

  cancel(id: string, reason: string | undefined): Promise<ControlResult> {
    return this.#ask(id, "cancel", reason)
  }

  terminate(id: string, options: TerminateOptions): Promise<ControlResult> {
    return this.#ask(id, "terminate", options)
  }

  restart(id: string, options: RestartOptions): Promise<ControlResult> {
    return this.#ask(id, "restart", options)
  }

  fork(id: string, options: ForkOptions): Promise<string> {
    return this.#ask(id, "fork", options)
  }

  query(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(id, "query", name, args)
  }

  update(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#ask(id, "update", name, args)
  }

  delete(id: string): Promise<DeleteResult> {
    return this.#ask(id, "delete")
  }

  async #ask<T>(id: string, method: InstanceMethod, ...args: readonly unknown[]): Promise<T> {
    return (await this.#callInstance(id, method, args)) as T
  }

  async #callInstance(id: string, method: InstanceMethod, args: readonly unknown[], locationHint?: string): Promise<unknown> {
    // Other text than an id may be the name of an object that has no instance.
    checkId(id)
    return this.#callObject(id, method, args, locationHint)
  }

  async #callObject(name: string, method: string, args: readonly unknown[], locationHint?: string): Promise<unknown> {
    let answer: string
    try {
      answer = await stubOf(this.#namespace, name, { locationHint }).ask(name, method, encodeCall(args), currentCaller())
    } catch (cause) {
      if (PerdureError.is(cause)) throw cause
      throw new PerdureError("UNREACHABLE", `the object of instance "${name}" did not answer; try again`, { details: { instance: name }, cause })
    }
    return decodeAnswer(answer)
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }))
}

/** The transaction is on a connection of the caller. An object cannot write on that connection. */
function refuseTransaction(transaction: unknown): void {
  if (transaction === undefined) return
  throw new PerdureError("NO_TRANSACTIONS", "a Durable Object cannot write in your transaction; make the call without the option transaction")
}
