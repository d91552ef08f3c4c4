import type { Change } from "../core/journal/change.ts"
import type { Status } from "../core/journal/status.ts"
import type { StepInfo } from "../core/journal/step-info.ts"
import type { QueryAnswer, QueryArguments, QueryName, UpdateAnswer, UpdateArguments, UpdateName } from "../core/workflow/declared-handlers.ts"
import type { AnyWorkflow, EventMap, HandlersOf, ResultOf, SentOf } from "../core/workflow/workflow.ts"
import type { ControlResult, DeleteResult, EventArguments, ForkOptions, RestartOptions, ResultOptions, TerminateOptions } from "./instance-control.ts"
import type { HistoryOptions, HistoryPage, InstanceDescription, ListFilter, ListPage, Why, WorkflowInfo } from "./instance-info.ts"
import type { LimitControl } from "./limit-control.ts"
import type { ScheduleClient } from "./schedule-client.ts"
import type { BatchItemsOf, BatchOptions, BatchResult, SendOrStartOptionsOf, StartArgumentsOf } from "./start-options.ts"
import type { QueueInfo, TaskControl } from "./task-control.ts"

export type {
  ControlResult,
  DeleteResult,
  EventArguments,
  ForkOptions,
  RestartOptions,
  ResultOptions,
  SendOptions,
  TerminateOptions,
} from "./instance-control.ts"
export type {
  HistoryEntry,
  HistoryOptions,
  HistoryPage,
  InstanceDescription,
  InstanceSummary,
  ListFilter,
  ListPage,
  Why,
  WorkflowInfo,
} from "./instance-info.ts"
export type {
  BatchItem,
  BatchItemsOf,
  BatchOptions,
  BatchResult,
  SendOrStartOptions,
  SendOrStartOptionsOf,
  StartArgumentsOf,
  StartOptions,
} from "./start-options.ts"

/** The methods of every client: the embedded engine, the HTTP client, and the client of Durable Objects. */
export interface Client {
  /** Changes the limits of workflows while they run. */
  readonly limits: LimitControl
  /** Claims activities from task queues and ends them, for workers that are no engines. */
  readonly tasks: TaskControl
  /**
   * Starts an instance of a workflow. The workflow is given as its definition or by its name. Resolves when the start is stored.
   * Throws `ID_EXISTS`, `ID_CONFLICT`, `INVALID_INPUT`, `BAD_ID`, `UNKNOWN_WORKFLOW` (by name) or `SINGLETON_EXISTS`.
   *
   * @example
   * const handle = await client.start(order, { id: "order-1", input: { item: "lamp" } })
   * console.log(await handle.result())
   */
  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  /**
   * Starts many instances. The results are in the order of the items. An item that fails does not hinder the others: its result has the `error` that
   * `start` would throw.
   *
   * @example
   * const results = await client.startBatch(["lamp", "chair"].map((item) => ({ workflow: order, input: { item } })))
   * for (const result of results) if (!result.created) console.error(result.error.message)
   */
  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  /**
   * Sends an event to an instance, and starts the instance first if it does not exist, in one transaction. Throws the errors of `start` and `sendEvent`,
   * except for `ID_EXISTS`.
   *
   * @example
   * await client.sendOrStart(basket, { id: "basket-7", input: { owner: "Ada" }, event: "add", payload: "lamp" })
   */
  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  /** Returns the registered workflows. A client without code returns the workflows that the store has instances of. */
  workflows(): Promise<readonly WorkflowInfo[]>
  /** Returns the task queues that have activities or workers: how many activities wait, since when, and which workers take them. */
  queues(): Promise<readonly QueueInfo[]>
  /**
   * Returns a handle of an instance: `get(id)`, or `get(workflow, id)` for a handle with the types of the workflow. It makes no request. The first call of
   * the handle throws `NOT_FOUND` if the instance does not exist.
   */
  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  /**
   * Returns a page of instances, the newest first by default. The `cursor` of a page selects the next page. Throws `BAD_OPTION` if a status, a limit or a
   * time is invalid.
   *
   * @example
   * let cursor: string | undefined
   * do {
   *   const page = await client.list({ workflow: "order", status: ["failed", "stalled"], ...(cursor && { cursor }) })
   *   for (const { id, status } of page.instances) console.log(id, status)
   *   cursor = page.cursor
   * } while (cursor)
   */
  list(filter?: ListFilter): Promise<ListPage>
  /** Counts the instances that match the filter, by status or by workflow: `{ running: 3, completed: 12 }`. */
  count(filter: Omit<ListFilter, "limit" | "cursor" | "order">, by: "status" | "workflow"): Promise<Record<string, number>>
  /** Returns everything about an instance: its status, input, result or error, and its steps. Throws `NOT_FOUND`, as all calls with an id do. */
  describe(id: string): Promise<InstanceDescription>
  /** Says in plain sentences what an instance waits for, and what happens next. */
  why(id: string): Promise<Why>
  /** Lets running attempts finish, and starts nothing more of the instance until `resume`. Events are kept meanwhile. */
  pause(id: string, reason?: string): Promise<ControlResult>
  /** Lets a paused instance go on. Lets a stalled instance go on after its code was repaired. */
  resume(id: string): Promise<ControlResult>
  /** Cancels the instance: its waits and steps reject with a `CancelledError`. Its code may clean up until the engine's `cancelGrace` has passed. */
  cancel(id: string, reason?: string): Promise<ControlResult>
  /** Ends the instance at once, without asking its code. With `rollback: true` its completed steps are undone first. */
  terminate(id: string, options?: string | TerminateOptions): Promise<ControlResult>
  /** Begins a new run of the instance with the same input. With `from`, the entries before that step are kept. Throws `UNKNOWN_STEP`. */
  restart(id: string, options?: RestartOptions): Promise<ControlResult>
  /** Creates an instance of the same workflow and version, with the entries of this one before a step. Throws `ID_EXISTS` or `UNKNOWN_STEP`. */
  fork(id: string, options: ForkOptions): Promise<Handle>
  /** Calls a query handler of the instance, which changes nothing. Throws `UNKNOWN_QUERY`, `NOT_STARTED` or `NO_WORKER`. */
  query(id: string, name: string, ...args: readonly unknown[]): Promise<unknown>
  /** Calls an update handler of the instance. The request is stored, and answered once. Throws `UNKNOWN_UPDATE` or `INSTANCE_ENDED`. */
  update(id: string, name: string, ...args: readonly unknown[]): Promise<unknown>
  /** Deletes an instance that has ended, with its whole history. Throws `NOT_ENDED`. */
  delete(id: string): Promise<DeleteResult>
  /**
   * Iterates over the changes of all instances, without gaps and in order for each instance. It begins with the oldest change, after the `cursor` of a
   * change, or with `"latest"` now. It waits for further changes until the loop ends or the client is closed. It makes no request before it is iterated.
   */
  changes(cursor?: string): Changes
  /** Starts instances at recurring times. */
  readonly schedules: ScheduleClient
}

/** One instance. A handle holds nothing but the id: you can create it anywhere and keep it for as long as you like. */
export interface Handle<Out = unknown, Sent = EventMap, Handlers = unknown> {
  /** The id of the instance. */
  readonly id: string
  /**
   * Waits for the end of the instance, and resolves with the return value of its code. `timeout` and `signal` end the wait. Rejects with the workflow's own error, a `CancelledError`, a `TerminatedError`, a `ResultTimeoutError`, or `INSTANCE_TIMEOUT`.
   *
   * @example
   * try {
   *   console.log(await handle.result({ timeout: "30s" }))
   * } catch (error) {
   *   if (!PerdureError.is(error, "RESULT_TIMEOUT")) throw error
   *   console.log((await handle.why()).because)
   * }
   */
  result(options?: ResultOptions): Promise<Out>
  /** Returns the status of the instance. Throws `NOT_FOUND` if the instance does not exist, as all calls of a handle do. */
  status(): Promise<Status>
  /** Returns everything about the instance: its status, input, result or error, and its steps. */
  describe(): Promise<InstanceDescription>
  /** Returns the steps of its last run, in the order in which its code asked for them. */
  steps(): Promise<readonly StepInfo[]>
  /** Returns a page of the entries of its journal. By default it has the entries of all runs, the oldest first. */
  history(options?: HistoryOptions): Promise<HistoryPage>
  /** Says in plain sentences what the instance waits for, and what happens next. */
  why(): Promise<Why>
  /**
   * Sends an event. Resolves when the event is stored. It is kept until the code waits for it. Throws `INSTANCE_ENDED` or `INVALID_EVENT`. Throws
   * `UNKNOWN_EVENT` if the workflow declares its events and this type is missing.
   *
   * @example
   * await handle.sendEvent("payment", { amount: 10 }, { eventId: "payment-77" })
   */
  sendEvent<K extends keyof Sent & string>(type: K, ...payload: EventArguments<Sent[K]>): Promise<void>
  /** Another name for `sendEvent`. */
  signal<K extends keyof Sent & string>(type: K, ...payload: EventArguments<Sent[K]>): Promise<void>
  /** Lets running attempts finish, and starts nothing more until `resume`. Events are kept meanwhile. */
  pause(reason?: string): Promise<ControlResult>
  /** Lets a paused instance go on. Lets a stalled instance go on after its code was repaired. */
  resume(): Promise<ControlResult>
  /** Cancels the instance: its waits and steps reject with a `CancelledError`. Its code may clean up until the engine's `cancelGrace` has passed. */
  cancel(reason?: string): Promise<ControlResult>
  /** Ends the instance at once, without asking its code. With `rollback: true` its completed steps are undone first. */
  terminate(options?: string | TerminateOptions): Promise<ControlResult>
  /** Begins a new run with the same input. With `from`, the entries before that step are kept. Throws `UNKNOWN_STEP`. */
  restart(options?: RestartOptions): Promise<ControlResult>
  /** Creates an instance with the entries of this one before a step. Throws `ID_EXISTS` or `UNKNOWN_STEP`. */
  fork(options: ForkOptions): Promise<Handle<Out, Sent, Handlers>>
  /**
   * Calls a query handler, which changes nothing. Throws `UNKNOWN_QUERY`, `NOT_STARTED`, `NO_WORKER`, or the error of the handler. `Answer` is the type of
   * the answer if the workflow declares no queries.
   */
  query<Answer = unknown, Name extends QueryName<Handlers> = QueryName<Handlers>>(
    name: Name,
    ...args: QueryArguments<Handlers, Name>
  ): Promise<QueryAnswer<Handlers, Name, Answer>>
  /**
   * Calls an update handler. The request is stored, and answered once. Throws `UNKNOWN_UPDATE`, `INSTANCE_ENDED`, or the error of the handler. `Answer` is
   * the type of the answer if the workflow declares no updates.
   */
  update<Answer = unknown, Name extends UpdateName<Handlers> = UpdateName<Handlers>>(
    name: Name,
    ...args: UpdateArguments<Handlers, Name>
  ): Promise<UpdateAnswer<Handlers, Name, Answer>>
  /** Deletes the instance, with its whole history, if it has ended. Throws `NOT_ENDED`. */
  delete(): Promise<DeleteResult>
  /** Iterates over the changes of this instance, like `changes` of the client. */
  changes(cursor?: string): Changes
}

/** The changes of `changes()`, for `for await`. Each iteration begins at the cursor. */
export interface Changes extends AsyncIterable<Change> {
  [Symbol.asyncIterator](): ChangeIterator
}

/** One iteration over changes, for callers that end it themselves or need its cursor. */
export interface ChangeIterator extends AsyncIterator<Change, undefined> {
  /** Ends the iteration, and a `next` that waits. */
  return(): Promise<IteratorReturnResult<undefined>>
  /** The cursor after the last change that it returned or passed over. Undefined at the beginning. */
  cursor(): Promise<string | undefined>
}

/** The handle of an instance of this workflow. It has the types of a workflow that is given as its definition, not of one that is given by its name. */
export type HandleOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? Handle<ResultOf<W>, SentOf<W>, HandlersOf<W>> : Handle
