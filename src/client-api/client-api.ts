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

/** What every client can do: the embedded engine, and whatever speaks to one from elsewhere. */
export interface Client {
  /** Changes the limits of workflows while they run. */
  readonly limits: LimitControl
  /**
   * Starts an instance of a workflow, which is given as its definition or by its name. Resolves when the start is stored.
   * Throws `ID_EXISTS`, `ID_CONFLICT`, `INVALID_INPUT`, `BAD_ID`, `UNKNOWN_WORKFLOW` (by name) or `SINGLETON_EXISTS`.
   *
   * @example
   * const handle = await client.start(order, { id: "order-1", input: { item: "lamp" } })
   * console.log(await handle.result())
   */
  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  /**
   * Starts many instances. Each item is answered on its own, in order: one that fails does not hinder the others. What `start` would throw is
   * `error` of that item.
   *
   * @example
   * const results = await client.startBatch(["lamp", "chair"].map((item) => ({ workflow: order, input: { item } })))
   * for (const result of results) if (!result.created) console.error(result.error.message)
   */
  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  /**
   * Sends an event to an instance, which is started first where there is none, in one transaction. Throws what `start` and `sendEvent` throw,
   * except for `ID_EXISTS`.
   *
   * @example
   * await client.sendOrStart(basket, { id: "basket-7", input: { owner: "Ada" }, event: "add", payload: "lamp" })
   */
  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  /** The workflows that are registered here. Where there are none, as in a client without code: those that the store has instances of. */
  workflows(): Promise<readonly WorkflowInfo[]>
  /**
   * A handle of an instance: `get(id)`, or `get(workflow, id)` for one with the types of the workflow. It makes no request: that there is no
   * such instance (`NOT_FOUND`) is told by the first call of the handle.
   */
  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  /**
   * A page of instances, the newest first unless the filter says otherwise. `cursor` of the page leads to the next one. Throws `BAD_OPTION`
   * for a status, a limit or a time that is none.
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
  /** How many instances fit the filter, by status or by workflow: `{ running: 3, completed: 12 }`. */
  count(filter: Omit<ListFilter, "limit" | "cursor" | "order">, by: "status" | "workflow"): Promise<Record<string, number>>
  /** All that is known of an instance: its status, input, result or error, and its steps. Throws `NOT_FOUND`, as all calls with an id do. */
  describe(id: string): Promise<InstanceDescription>
  /** Says in plain sentences what an instance waits for, and what happens next. */
  why(id: string): Promise<Why>
  /** Lets running attempts finish, and starts nothing more of the instance until `resume`. Events are kept meanwhile. */
  pause(id: string, reason?: string): Promise<ControlResult>
  /** Lets an instance go on that is paused, or that is stalled and whose code was mended. */
  resume(id: string): Promise<ControlResult>
  /** Asks the code to end: its waits and steps reject with a `CancelledError`, and it may clean up until the engine's `cancelGrace` is over. */
  cancel(id: string, reason?: string): Promise<ControlResult>
  /** Ends the instance at once, without asking its code. With `rollback: true` its completed steps are undone first. */
  terminate(id: string, options?: string | TerminateOptions): Promise<ControlResult>
  /** Begins a new run of the instance with the same input; with `from`, what was recorded before that step is kept. Throws `UNKNOWN_STEP`. */
  restart(id: string, options?: RestartOptions): Promise<ControlResult>
  /** Makes a new instance of the same workflow and version, with what this one recorded before a step. Throws `ID_EXISTS` or `UNKNOWN_STEP`. */
  fork(id: string, options: ForkOptions): Promise<Handle>
  /** Asks the code of an instance a question, which changes nothing. Throws `UNKNOWN_QUERY`, `NOT_STARTED` or `NO_WORKER`. */
  query(id: string, name: string, ...args: readonly unknown[]): Promise<unknown>
  /** Asks the code of an instance to do something: the request is stored, and answered once. Throws `UNKNOWN_UPDATE` or `INSTANCE_ENDED`. */
  update(id: string, name: string, ...args: readonly unknown[]): Promise<unknown>
  /** Deletes an instance that is over, with its whole history. Throws `NOT_ENDED`. */
  delete(id: string): Promise<DeleteResult>
  /**
   * What happens to instances, gap-free and in order per instance: from the beginning, from the `cursor` of a change on, or with
   * `"latest"` from now on. It waits for more until its reader leaves or the client is closed. Nothing is asked before it is iterated.
   */
  changes(cursor?: string): Changes
  /** Starts instances at times that come again. */
  readonly schedules: ScheduleClient
}

/** One instance, by its id. A handle holds nothing but the id: it can be made anywhere and kept for as long as you like. */
export interface Handle<Out = unknown, Sent = EventMap, Handlers = unknown> {
  /** The id of the instance. */
  readonly id: string
  /**
   * Waits for the end of the instance, and gives what its code returned. It waits for ever by default; `timeout` and `signal` end the wait.
   * Rejects with the workflow's own error, a `CancelledError`, a `TerminatedError`, a `ResultTimeoutError`, or `INSTANCE_TIMEOUT`.
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
  /** What the instance is doing, or how it ended. Throws `NOT_FOUND` where there is no such instance, as all calls of a handle do. */
  status(): Promise<Status>
  /** All that is known of the instance: its status, input, result or error, and its steps. */
  describe(): Promise<InstanceDescription>
  /** The steps of its last run, in the order in which its code asked for them. */
  steps(): Promise<readonly StepInfo[]>
  /** A page of the entries of its journal, the oldest first, of all runs by default. */
  history(options?: HistoryOptions): Promise<HistoryPage>
  /** Says in plain sentences what the instance waits for, and what happens next. */
  why(): Promise<Why>
  /**
   * Sends an event. Resolves when it is stored: it is kept until the code asks for it. Throws `INSTANCE_ENDED`, `INVALID_EVENT`, or
   * `UNKNOWN_EVENT` where the workflow declares its events, and not this one.
   *
   * @example
   * await handle.sendEvent("payment", { amount: 10 }, { eventId: "payment-77" })
   */
  sendEvent<K extends keyof Sent & string>(type: K, ...payload: EventArguments<Sent[K]>): Promise<void>
  /** Another name for `sendEvent`. */
  signal<K extends keyof Sent & string>(type: K, ...payload: EventArguments<Sent[K]>): Promise<void>
  /** Lets running attempts finish, and starts nothing more until `resume`. Events are kept meanwhile. */
  pause(reason?: string): Promise<ControlResult>
  /** Lets the instance go on if it is paused, or if it is stalled and its code was mended. */
  resume(): Promise<ControlResult>
  /** Asks the code to end: its waits and steps reject with a `CancelledError`, and it may clean up until the engine's `cancelGrace` is over. */
  cancel(reason?: string): Promise<ControlResult>
  /** Ends the instance at once, without asking its code. With `rollback: true` its completed steps are undone first. */
  terminate(options?: string | TerminateOptions): Promise<ControlResult>
  /** Begins a new run with the same input; with `from`, what was recorded before that step is kept. Throws `UNKNOWN_STEP`. */
  restart(options?: RestartOptions): Promise<ControlResult>
  /** Makes a new instance with what this one recorded before a step. Throws `ID_EXISTS` or `UNKNOWN_STEP`. */
  fork(options: ForkOptions): Promise<Handle<Out, Sent, Handlers>>
  /**
   * Asks the code a question, which changes nothing. Throws `UNKNOWN_QUERY`, `NOT_STARTED`, `NO_WORKER`, or what the handler throws.
   * `Answer` is the type of the answer where the workflow declares no queries.
   */
  query<Answer = unknown, Name extends QueryName<Handlers> = QueryName<Handlers>>(
    name: Name,
    ...args: QueryArguments<Handlers, Name>
  ): Promise<QueryAnswer<Handlers, Name, Answer>>
  /**
   * Asks the code to do something: the request is stored, and answered once. Throws `UNKNOWN_UPDATE`, `INSTANCE_ENDED`, or what the handler
   * throws. `Answer` is the type of the answer where the workflow declares no updates.
   */
  update<Answer = unknown, Name extends UpdateName<Handlers> = UpdateName<Handlers>>(
    name: Name,
    ...args: UpdateArguments<Handlers, Name>
  ): Promise<UpdateAnswer<Handlers, Name, Answer>>
  /** Deletes the instance if it is over, with its whole history. Throws `NOT_ENDED`. */
  delete(): Promise<DeleteResult>
  /** What happens to this instance, as `changes` of the client tells it. */
  changes(cursor?: string): Changes
}

/** The changes of `changes()`, for `for await`. Every iteration begins at the cursor anew. */
export interface Changes extends AsyncIterable<Change> {
  [Symbol.asyncIterator](): ChangeIterator
}

/** One iteration over changes, for readers that want to stop it, or to know where it stands. */
export interface ChangeIterator extends AsyncIterator<Change, undefined> {
  /** Ends a `next` that waits, too. */
  return(): Promise<IteratorReturnResult<undefined>>
  /** Where it stands: what it gave, and what it passed over, is before. Undefined: at the beginning. */
  cursor(): Promise<string | undefined>
}

/** The handle of an instance of this workflow, with its types; of a workflow that is only named, without them. */
export type HandleOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? Handle<ResultOf<W>, SentOf<W>, HandlersOf<W>> : Handle
