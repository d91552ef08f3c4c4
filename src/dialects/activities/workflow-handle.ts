import type { QueryAnswer, QueryArguments, QueryName, UpdateAnswer, UpdateArguments, UpdateName } from "../../core/workflow/declared-handlers.ts"
import type { AnyWorkflow, EventMap, HandlersOf, ResultOf, SentOf } from "../../core/workflow/workflow.ts"
import type { EventArguments, Handle, ResultOptions, TerminateOptions, Why } from "../../client-api/client-api.ts"
import { controlResult, workflowDescription, type WorkflowControlResult, type WorkflowDescription } from "./workflow-execution.ts"

/** One workflow of a client. A handle holds nothing but the id: you can create it anywhere and keep it for as long as you like. */
export interface WorkflowHandle<Out = unknown, Signals = EventMap, Handlers = unknown> {
  /** The id of the workflow. */
  readonly workflowId: string
  /**
   * Waits for the end of the workflow, and resolves with the return value of its code. Rejects with the workflow's own error, a `CancelledError`, a
   * `TerminatedError`, a `ResultTimeoutError`, or `INSTANCE_TIMEOUT`. It follows `continueAsNew` to the last run.
   */
  result(options?: ResultOptions): Promise<Out>
  /** Calls a query handler, which changes nothing. Throws `UNKNOWN_QUERY`, `NOT_STARTED`, `NO_WORKER`, or the error of the handler. */
  query<Answer = unknown, Name extends QueryName<Handlers> = QueryName<Handlers>>(
    name: Name,
    ...args: QueryArguments<Handlers, Name>
  ): Promise<QueryAnswer<Handlers, Name, Answer>>
  /** Sends a signal. Resolves when the signal is stored; it is kept until the code waits for it. Throws `INSTANCE_ENDED` or `INVALID_EVENT`. */
  signal<K extends keyof Signals & string>(name: K, ...payload: EventArguments<Signals[K]>): Promise<void>
  /** Calls an update handler. The request is stored, and answered once. Throws `UNKNOWN_UPDATE`, `INSTANCE_ENDED`, or the error of the handler. */
  update<Answer = unknown, Name extends UpdateName<Handlers> = UpdateName<Handlers>>(
    name: Name,
    ...args: UpdateArguments<Handlers, Name>
  ): Promise<UpdateAnswer<Handlers, Name, Answer>>
  /** Cancels the workflow: its sleeps, waits and activities reject with a `CancelledError`. Its code may clean up until the `cancelGrace` of the worker has passed. */
  cancel(reason?: string): Promise<WorkflowControlResult>
  /** Ends the workflow at once, without asking its code. With `rollback: true` its completed steps are undone first. */
  terminate(options?: string | TerminateOptions): Promise<WorkflowControlResult>
  /** Returns everything about the workflow: its status, input, result or error, and its steps. Throws `NOT_FOUND` if it does not exist. */
  describe(): Promise<WorkflowDescription>
  /** Says in plain sentences what the workflow waits for, and what happens next. */
  why(): Promise<Why>
}

/** The handle of a workflow that is given as its definition or by its name. */
export type WorkflowHandleOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? WorkflowHandle<ResultOf<W>, SentOf<W>, HandlersOf<W>> : WorkflowHandle

/** The handle over that of `perdure`, which is asked for when a call is made: making a handle connects to nothing. */
export class LazyHandle implements WorkflowHandle<unknown, Record<string, unknown>> {
  readonly workflowId: string
  readonly #native: () => Promise<Handle>

  constructor(workflowId: string, native: () => Promise<Handle>) {
    this.workflowId = workflowId
    this.#native = native
  }

  async result(options?: ResultOptions): Promise<unknown> {
    return (await this.#native()).result(options)
  }

  async query<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return (await (await this.#native()).query(name, ...args)) as Answer
  }

  async signal(name: string, ...payload: EventArguments<unknown>): Promise<void> {
    return (await this.#native()).sendEvent(name, ...payload)
  }

  async update<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return (await (await this.#native()).update(name, ...args)) as Answer
  }

  async cancel(reason?: string): Promise<WorkflowControlResult> {
    return controlResult(await (await this.#native()).cancel(reason))
  }

  async terminate(options?: string | TerminateOptions): Promise<WorkflowControlResult> {
    return controlResult(await (await this.#native()).terminate(options))
  }

  async describe(): Promise<WorkflowDescription> {
    return workflowDescription(await (await this.#native()).describe())
  }

  async why(): Promise<Why> {
    return (await this.#native()).why()
  }
}
