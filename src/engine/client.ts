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
  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  /** Each item on its own: one that fails does not hinder the others. */
  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  /** Sends to an instance that may not exist yet; then it is started first, atomically. */
  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  /** The workflows that can be started here by their name. */
  workflows(): Promise<readonly WorkflowInfo[]>
  /** Makes no request. */
  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  list(filter?: ListFilter): Promise<ListPage>
  count(filter: Omit<ListFilter, "limit" | "cursor" | "order">, by: "status" | "workflow"): Promise<Record<string, number>>
  describe(id: string): Promise<InstanceDescription>
  why(id: string): Promise<Why>
  pause(id: string, reason?: string): Promise<ControlResult>
  resume(id: string): Promise<ControlResult>
  cancel(id: string, reason?: string): Promise<ControlResult>
  terminate(id: string, options?: string | TerminateOptions): Promise<ControlResult>
  restart(id: string, options?: RestartOptions): Promise<ControlResult>
  /** A new instance of the same workflow and version, with what this one recorded before a step. */
  fork(id: string, options: ForkOptions): Promise<Handle>
  /** What the instance's code answers from what it knows; changes nothing. */
  query(id: string, name: string, ...args: readonly unknown[]): Promise<unknown>
  /** Asks the instance's code to do something; durable, and answered once. */
  update(id: string, name: string, ...args: readonly unknown[]): Promise<unknown>
  /** Removes an instance that is over, with its journal; rejects with `NOT_ENDED` where it is not over. */
  delete(id: string): Promise<DeleteResult>
  /**
   * What happens to instances, gap-free and in order per instance: from the beginning, from the `cursor` of a change on, or with
   * `"latest"` from now on. It waits for more until its reader leaves or the client is closed.
   */
  changes(cursor?: string): Changes
  readonly schedules: ScheduleClient
}

/** One instance. */
export interface Handle<Out = unknown, Sent = EventMap, Handlers = unknown> {
  readonly id: string
  /** Rejects with the workflow's own error, a `CancelledError`, a `TerminatedError` or a `ResultTimeoutError`. */
  result(options?: ResultOptions): Promise<Out>
  status(): Promise<Status>
  describe(): Promise<InstanceDescription>
  steps(): Promise<readonly StepInfo[]>
  history(options?: HistoryOptions): Promise<HistoryPage>
  why(): Promise<Why>
  sendEvent<K extends keyof Sent & string>(type: K, ...payload: EventArguments<Sent[K]>): Promise<void>
  signal<K extends keyof Sent & string>(type: K, ...payload: EventArguments<Sent[K]>): Promise<void>
  pause(reason?: string): Promise<ControlResult>
  resume(): Promise<ControlResult>
  cancel(reason?: string): Promise<ControlResult>
  terminate(options?: string | TerminateOptions): Promise<ControlResult>
  restart(options?: RestartOptions): Promise<ControlResult>
  fork(options: ForkOptions): Promise<Handle<Out, Sent, Handlers>>
  /** `Answer`: what it is to be, where the workflow declares no queries. */
  query<Answer = unknown, Name extends QueryName<Handlers> = QueryName<Handlers>>(
    name: Name,
    ...args: QueryArguments<Handlers, Name>
  ): Promise<QueryAnswer<Handlers, Name, Answer>>
  /** `Answer`: what it is to be, where the workflow declares no updates. */
  update<Answer = unknown, Name extends UpdateName<Handlers> = UpdateName<Handlers>>(
    name: Name,
    ...args: UpdateArguments<Handlers, Name>
  ): Promise<UpdateAnswer<Handlers, Name, Answer>>
  /** Removes the instance with its journal; rejects with `NOT_ENDED` where it is not over. */
  delete(): Promise<DeleteResult>
  /** Those of this instance. */
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
