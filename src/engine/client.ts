import type { BufferedEvents } from "../core/buffered-events.ts"
import type { Change } from "../core/change.ts"
import type { Duration } from "../core/duration.ts"
import type { PerdureError } from "../core/errors.ts"
import type { EntryType } from "../core/journal.ts"
import type { Phase, Status } from "../core/status.ts"
import type { StepInfo } from "../core/step-view.ts"
import type { TransactionClient } from "../core/sql.ts"
import type { QueryAnswer, QueryArguments, QueryName, UpdateAnswer, UpdateArguments, UpdateName } from "../core/declared-handlers.ts"
import type { AnyWorkflow, EventMap, HandlersOf, InputOf, ResultOf, SentOf } from "../core/workflow.ts"
import type { ScheduleClient } from "./schedule-client.ts"
import type { LimitControl } from "./limit-control.ts"

/** What every client can do: the embedded engine, and whatever speaks to one from elsewhere. */
export interface Client {
  /** Changes the limits of workflows while they run. */
  readonly limits: LimitControl
  /**
   * Starts an instance of a workflow, which is given as its definition or by its name. Resolves when the start is stored.
   * Throws `ID_EXISTS`, `INVALID_INPUT`, `BAD_ID`, `UNKNOWN_WORKFLOW` (by name) or `SINGLETON_EXISTS`.
   *
   *     const handle = await client.start(order, { id: "order-1", input: { item: "lamp" } })
   */
  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  /** Starts many instances. Each item is answered on its own, in order: one that fails does not hinder the others. */
  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  /**
   * Sends an event to an instance, which is started first where there is none, in one transaction. Throws what `start` and `sendEvent` throw,
   * except for `ID_EXISTS`.
   */
  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  /** The workflows that can be started here by their name. */
  workflows(): Promise<readonly WorkflowInfo[]>
  /**
   * A handle of an instance: `get(id)`, or `get(workflow, id)` for one with the types of the workflow. It makes no request: that there is no
   * such instance (`NOT_FOUND`) is told by the first call of the handle.
   */
  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  /** A page of instances, the newest first unless the filter says otherwise. `cursor` of the page leads to the next one. */
  list(filter?: ListFilter): Promise<ListPage>
  /** How many instances there are, by status or by workflow. */
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
   * `"latest"` from now on. It waits for more until its reader leaves or the client is closed.
   */
  changes(cursor?: string): Changes
  /** Starts instances at times that come again. */
  readonly schedules: ScheduleClient
}

/** One instance. */
export interface Handle<Out = unknown, Sent = EventMap, Handlers = unknown> {
  /** The id of the instance. */
  readonly id: string
  /**
   * Waits for the end of the instance, and gives what its code returned. It waits for ever by default; `timeout` and `signal` end the wait.
   * Rejects with the workflow's own error, a `CancelledError`, a `TerminatedError` or a `ResultTimeoutError`.
   */
  result(options?: ResultOptions): Promise<Out>
  /** Throws `NOT_FOUND` where there is no such instance, as all calls of a handle do. */
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
   *     await handle.sendEvent("payment", { amount: 10 }, { eventId: "payment-77" })
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

/** Every iteration begins at the cursor anew. */
export interface Changes extends AsyncIterable<Change> {
  [Symbol.asyncIterator](): ChangeIterator
}

export interface ChangeIterator extends AsyncIterator<Change, undefined> {
  /** Ends a `next` that waits, too. */
  return(): Promise<IteratorReturnResult<undefined>>
  /** Where it stands: what it gave, and what it passed over, is before. Undefined: at the beginning. */
  cursor(): Promise<string | undefined>
}

export interface WorkflowInfo {
  readonly name: string
  /** What a start by name takes. */
  readonly version: string
  readonly versions: readonly string[]
}

export interface ResultOptions {
  /** How long to wait; default: for ever. */
  readonly timeout?: Duration
  /**
   * Rejects with a `STALLED` error as soon as the instance is stalled, which a person has to look at. Default: goes on waiting, as the instance may be
   * resumed.
   */
  readonly rejectWhenStalled?: boolean
  /** Whoever waits has gone away: rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** Input may be left out where the workflow takes none. `More`: what a client takes beside. */
export type StartArguments<In, More = unknown> = undefined extends In
  ? [options?: StartOptions<In> & More]
  : [In] extends [void]
    ? [options?: StartOptions<In> & More]
    : [options: StartOptions<In> & { readonly input: In } & More]
/** The same, of a workflow or of one that is only named. */
export type StartArgumentsOf<W extends AnyWorkflow | string, More = unknown> = W extends AnyWorkflow
  ? StartArguments<InputOf<W>, More>
  : [options?: StartOptions<unknown> & More]
export type HandleOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? Handle<ResultOf<W>, SentOf<W>, HandlersOf<W>> : Handle

export type EventArguments<P> = undefined extends P
  ? [payload?: P, options?: SendOptions]
  : unknown extends P
    ? [payload?: P, options?: SendOptions]
    : [payload: P, options?: SendOptions]

export interface StartOptions<In> {
  /** Unique in the engine; default: a random one. */
  readonly id?: string
  readonly input?: In
  /** By name: which version; default: the last registered. */
  readonly version?: string
  /**
   * By name and version: also one that nobody knows yet. The instance then waits for a worker that has it. Otherwise a start is refused
   * (`UNKNOWN_WORKFLOW`) if this engine has no such code, no running worker offers it, and the store has no instance of it.
   */
  readonly allowUnknown?: boolean
  /** `"return"`: the instance that has this id, if workflow and input are the same; or the only one that may be there. */
  readonly ifExists?: "error" | "return"
  readonly delay?: Duration
  readonly startAt?: Date | number | string
  /** Of the whole instance: cancelled, then failed. */
  readonly timeout?: Duration
  /** Higher first among those that wait; default: what the workflow says, else 0. */
  readonly priority?: number
  readonly tags?: readonly string[]
  /** Only workers that serve this queue execute it; default: what the workflow says, else `"default"`. */
  readonly taskQueue?: string
  /** Names this start: sent again with the same one, it is the same start, also where an id that exists is an error. Random, 16 to 64 letters, digits, `_` and `-`. */
  readonly requestId?: string
  /** On PostgreSQL: a client with a transaction of yours open on it. If that is rolled back, nothing was ever started. */
  readonly transaction?: TransactionClient
}

export interface BatchItem extends Omit<StartOptions<unknown>, "transaction"> {
  readonly workflow: AnyWorkflow | string
}

/** One item of a batch, with the input that its workflow takes; of several workflows at once nothing is known of it. */
type BatchItemOf<W> = [W] extends [AnyWorkflow]
  ? { readonly workflow: W } & Omit<StartArgumentsFirst<InputOf<W>>, "transaction">
  : BatchItem & { readonly workflow: W }
type StartArgumentsFirst<In> = NonNullable<StartArguments<In>[0]>
export type BatchItemsOf<Ws extends readonly (AnyWorkflow | string)[]> = { readonly [K in keyof Ws]: BatchItemOf<Ws[K]> }

export interface BatchOptions {
  /** As of a start, for all of them. */
  readonly transaction?: TransactionClient
}

export type BatchResult = { readonly id: string; readonly created: true } | { readonly id: string; readonly created: false; readonly error: PerdureError }

export type SendOrStartOptions<In, Sent, K extends keyof Sent> = Omit<StartOptions<In>, "id" | "ifExists" | "delay" | "startAt" | "requestId"> & {
  readonly id: string
  readonly event: K
  readonly payload: Sent[K]
  readonly eventId?: string
} & ([In] extends [void] ? unknown : { readonly input: In })

/** The same, of a workflow or of one that is only named: the payload is that of the event. */
export type SendOrStartOptionsOf<W extends AnyWorkflow | string> = W extends AnyWorkflow
  ? { [K in keyof SentOf<W> & string]: SendOrStartOptions<InputOf<W>, SentOf<W>, K> }[keyof SentOf<W> & string]
  : SendOrStartOptions<unknown, EventMap, string>

export interface SendOptions {
  /** An event sent twice with the same id is received once. */
  readonly eventId?: string
  /** On PostgreSQL: a client with a transaction of yours open on it. The event is there when that is committed. */
  readonly transaction?: TransactionClient
}

export interface RestartOptions {
  /** Keeps what was recorded before this step began. */
  readonly from?: string
}

/** What a deletion answers: the instance is gone, durably. */
export interface DeleteResult {
  /**
   * True, on Durable Objects only: the index of instances did not answer, so `list`, `count` and `changes` may show the instance until it does. There
   * is nothing to do: the index is told again until it has forgotten the instance.
   */
  readonly stillListed: boolean
}

export interface TerminateOptions {
  readonly reason?: string
  /** Undo completed steps first. */
  readonly rollback?: boolean
}

export interface ForkOptions {
  /** Of the new instance. */
  readonly id: string
  /** It begins with what was recorded before this step began; default: with nothing but the input. */
  readonly from?: string
  /** Default: the same. */
  readonly input?: unknown
  /** As of a start. */
  readonly requestId?: string
}

export interface ListFilter {
  readonly workflow?: string
  readonly version?: string
  readonly status?: Status | readonly Status[]
  readonly tag?: string
  /** The task queue. */
  readonly queue?: string
  readonly since?: Date | number | string
  readonly until?: Date | number | string
  readonly idPrefix?: string
  /** Default 50, at most 1,000. */
  readonly limit?: number
  readonly cursor?: string
  readonly order?: "newest" | "oldest"
}

export interface ListPage {
  readonly instances: readonly InstanceSummary[]
  readonly cursor?: string
}

export interface InstanceSummary {
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly run: number
  readonly status: Status
  readonly phase?: Phase
  readonly tags: readonly string[]
  /** Its task queue. */
  readonly queue: string
  /** What its code noted about it with `ctx.setMemo`. */
  readonly memo?: Readonly<Record<string, unknown>>
  readonly createdAt: number
  readonly updatedAt: number
}

export interface InstanceDescription extends InstanceSummary {
  readonly incarnation: string
  /** 1, and one more for each crash of the worker that ran it, in this run. */
  readonly attempt: number
  readonly input: unknown
  readonly result?: unknown
  readonly error?: unknown
  /** The instance that started it. */
  readonly parentId?: string
  /** Where a schedule started it: which one, and for which of its times. */
  readonly schedule?: { readonly id: string; readonly scheduledAt: number }
  /** Steps that it completed and could not undo. */
  readonly notRolledBack?: readonly string[]
  /** Events of this run that its code has not taken, by type. Absent: there are none. */
  readonly bufferedEvents?: readonly BufferedEvents[]
  readonly steps: readonly StepInfo[]
}

/** `accepted: false`: nothing changed, and `reason` says why. */
export interface ControlResult {
  readonly id: string
  readonly accepted: boolean
  readonly status: Status
  readonly phase?: Phase
  readonly reason?: string
}

export interface HistoryOptions {
  /** Default: all runs. */
  readonly run?: number
  readonly cursor?: string
  readonly limit?: number
  /** Default: the oldest first. */
  readonly order?: "oldest" | "newest"
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[]
  readonly cursor?: string
}

export interface HistoryEntry {
  readonly position: number
  readonly run: number
  readonly at: number
  readonly type: EntryType
  readonly data: Readonly<Record<string, unknown>>
}

/** Why an instance is not moving. */
export interface Why {
  readonly status: Status
  /** In plain sentences, the most telling first. */
  readonly because: readonly string[]
  /** What happens next by itself, if anything does. */
  readonly next?: { readonly what: string; readonly at: number }
}
