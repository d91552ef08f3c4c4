// Users compile this file's types, and their target may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import { PerdureError } from "../../core/errors.ts"
import { activityName } from "../../core/execution/activity-ask.ts"
import type { ActivityInputOf, ActivityOptions, ActivityResultOf, AnyActivity } from "../../core/workflow/activity.ts"
import type { AnyWorkflow, InputOf } from "../../core/workflow/workflow.ts"
import type { Client, Handle, StartOptions, TerminateOptions, Why } from "../../client-api/client-api.ts"
import { activityWorkflow } from "../../engine/tasks/activity-workflow.ts"
import {
  listFilter,
  workflowSummary,
  type WorkflowControlResult,
  type WorkflowDescription,
  type WorkflowFilter,
  type WorkflowPage,
} from "./workflow-execution.ts"
import { LazyHandle, type WorkflowHandle, type WorkflowHandleOf } from "./workflow-handle.ts"

/** The client beneath: its own engine, a connection over HTTP, Durable Objects, or an engine that the user has opened. */
export type NativeClient = Pick<Client, "start" | "get" | "list">

/** Recognises a client by its methods, because another copy of the package may have made it. */
export function isNativeClient(target: object): target is NativeClient {
  const { start, get, list } = target as Partial<NativeClient>
  return typeof start === "function" && typeof get === "function" && typeof list === "function"
}

export interface Connection {
  readonly client: NativeClient
  /** Closes what was opened for this client. */
  close(): Promise<void>
}

/** The connection over a client that belongs to the user, or has nothing to close. */
export function givenConnection(client: NativeClient): Connection {
  return { client, close: () => Promise.resolve() }
}

/** Options of `start`: those of `perdure`, with `workflowId` in place of `id`. */
export interface WorkflowStartOptions<In> extends Omit<StartOptions<In>, "id"> {
  /** The id of the workflow, unique in the store. 1 to 256 letters, digits and `. _ : @ - ~ = ,`; it begins with a letter, a digit or `_`. Default: random. */
  readonly workflowId?: string
}

type StartArgumentsFor<In> = undefined extends In
  ? [options?: WorkflowStartOptions<In>]
  : [In] extends [void]
    ? [options?: WorkflowStartOptions<In>]
    : [options: WorkflowStartOptions<In> & { readonly input: In }]
/** The arguments of a start: `input` may be left out if the workflow takes none. */
export type WorkflowStartArguments<W extends AnyWorkflow | string> = W extends AnyWorkflow
  ? StartArgumentsFor<InputOf<W>>
  : [options?: WorkflowStartOptions<unknown>]

/** Options of an activity without a workflow. */
export interface StandaloneActivityOptions<In>
  extends Omit<ActivityOptions<In>, "sensitive">, Pick<StartOptions<unknown>, "ifExists" | "tags" | "retention" | "delay" | "startAt"> {
  /** The id under which the activity is listed, unique in the store. Default: random. */
  readonly id?: string
}

type ActivityArgumentsFor<In> = undefined extends In
  ? [options?: StandaloneActivityOptions<In>]
  : [In] extends [void]
    ? [options?: StandaloneActivityOptions<In>]
    : [options: StandaloneActivityOptions<In> & { readonly input: In }]
/** The arguments of an activity without a workflow: `input` may be left out if the activity takes none. */
export type StandaloneActivityArguments<A extends AnyActivity | string> = A extends AnyActivity
  ? ActivityArgumentsFor<ActivityInputOf<A>>
  : [options?: StandaloneActivityOptions<unknown>]

/** The calls of `WorkflowClient`. The connection is made by the first of them. */
export abstract class ActivitiesClient implements AsyncDisposable {
  #connection: Promise<Connection> | undefined
  #isClosed = false

  /** Connects. A failure is thrown by the call, and the next call tries again. */
  protected abstract connect(): Promise<Connection>

  /**
   * Starts a workflow, which is given as its definition or by its name. Resolves when the start is stored. Throws `ID_EXISTS`, `ID_CONFLICT`,
   * `INVALID_INPUT`, `BAD_ID` or `UNKNOWN_WORKFLOW` (by name).
   *
   * @example
   * const handle = await client.start(processOrder, { workflowId: "order-1", input: { id: "1", items: ["lamp"] }, taskQueue: "orders" })
   * await handle.signal("payment", { amount: 10 })
   * console.log(await handle.result())
   */
  start<W extends AnyWorkflow | string>(workflow: W, ...options: WorkflowStartArguments<W>): Promise<WorkflowHandleOf<W>>
  async start(workflow: AnyWorkflow | string, { workflowId, ...options }: WorkflowStartOptions<unknown> = {}): Promise<WorkflowHandle> {
    const { client } = await this.#connected()
    const native = await client.start(workflow as string, workflowId === undefined ? options : { ...options, id: workflowId })
    return new LazyHandle(native.id, () => this.#handle(workflow, native.id))
  }

  /**
   * Returns a handle: `getHandle(workflowId)`, or `getHandle(workflow, workflowId)` for a handle with the types of the workflow, which also answers queries
   * in a process that has no worker. It makes no request.
   */
  getHandle<W extends AnyWorkflow | string>(workflowOrId: W, ...workflowId: W extends string ? [] : [workflowId: string]): WorkflowHandleOf<W>
  getHandle(first: AnyWorkflow | string, second?: string): WorkflowHandle {
    const id = typeof first === "string" ? first : (second ?? "")
    return new LazyHandle(id, () => this.#handle(first, id))
  }

  /**
   * Runs an activity without a workflow of yours, and returns its result. The activity is given as its definition or by its name. It is listed, described
   * and cancelled like a workflow, under `id`. Throws a `StepFailedError` if all attempts fail.
   *
   * @example
   * const done = await client.activity(resize, { input: ["lamp.png"], id: "resize-7", taskQueue: "images", retry: { maxAttempts: 3 } })
   */
  activity<A extends AnyActivity | string>(activity: A, ...options: StandaloneActivityArguments<A>): Promise<ActivityResultOf<A>>
  async activity(activity: AnyActivity | string, options: StandaloneActivityOptions<unknown> = {}): Promise<unknown> {
    return (await this.#startActivity(activity, options)).result()
  }

  /** Starts an activity without a workflow of yours, and returns its handle. */
  startActivity<A extends AnyActivity | string>(activity: A, ...options: StandaloneActivityArguments<A>): Promise<WorkflowHandle<ActivityResultOf<A>>>
  startActivity(activity: AnyActivity | string, options: StandaloneActivityOptions<unknown> = {}): Promise<WorkflowHandle> {
    return this.#startActivity(activity, options)
  }

  /**
   * Returns a page of workflows, the newest first by default. The `cursor` of a page selects the next page.
   *
   * @example
   * const { workflows } = await client.list({ status: "running", taskQueue: "orders" })
   */
  async list(filter: WorkflowFilter = {}): Promise<WorkflowPage> {
    const { client } = await this.#connected()
    const { instances, cursor } = await client.list(listFilter(filter))
    return { workflows: instances.map(workflowSummary), ...(cursor === undefined ? {} : { cursor }) }
  }

  /** Returns everything about a workflow: its status, input, result or error, and its steps. Throws `NOT_FOUND`, as all calls with an id do. */
  describe(workflowId: string): Promise<WorkflowDescription> {
    return this.getHandle(workflowId).describe()
  }

  /** Says in plain sentences what a workflow waits for, and what happens next. */
  why(workflowId: string): Promise<Why> {
    return this.getHandle(workflowId).why()
  }

  /** Cancels the workflow: its sleeps, waits and activities reject with a `CancelledError`. Its code may clean up. */
  cancel(workflowId: string, reason?: string): Promise<WorkflowControlResult> {
    return this.getHandle(workflowId).cancel(reason)
  }

  /** Ends the workflow at once, without asking its code. */
  terminate(workflowId: string, options?: string | TerminateOptions): Promise<WorkflowControlResult> {
    return this.getHandle(workflowId).terminate(options)
  }

  /** Closes the connection. Later calls throw `ENGINE_CLOSED`. A client or engine that you gave stays open. */
  async close(): Promise<void> {
    this.#isClosed = true
    const connection = await this.#connection?.catch(() => undefined)
    await connection?.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #startActivity(activity: AnyActivity | string, options: StandaloneActivityOptions<unknown>): Promise<WorkflowHandle> {
    const { id, ifExists, tags, retention, delay, startAt, ...own }: StandaloneActivityOptions<unknown> & Pick<ActivityOptions, "sensitive"> = options
    const name = activityName(activity)
    const defaults = typeof activity === "string" ? {} : activity.options
    if (own.sensitive ?? defaults.sensitive)
      throw new PerdureError(
        "BAD_OPTION",
        `activity "${name}" is sensitive, and would be shown as a workflow of its own; call it from a workflow that is sensitive`,
      )
    const given = { workflowId: id, ifExists, tags, retention, delay, startAt, taskQueue: own.taskQueue ?? defaults.taskQueue }
    const input = { activity: name, options: { ...defaults, ...own, ...(defaults.retry && { retry: { ...defaults.retry, ...own.retry } }) } }
    return this.start(activityWorkflow, { ...withoutUndefined(given), input })
  }

  async #handle(workflow: AnyWorkflow | string, id: string): Promise<Handle> {
    const { client } = await this.#connected()
    return typeof workflow === "string" ? client.get(id) : (client.get(workflow, id) as Handle)
  }

  #connected(): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(new PerdureError("ENGINE_CLOSED", "this client is closed; create another WorkflowClient"))
    this.#connection ??= this.connect().catch((error: unknown) => {
      this.#connection = undefined
      throw error
    })
    return this.#connection
  }
}

function withoutUndefined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}
