import type { Duration } from "../time/duration.ts"
import type { RetryOptions } from "./retry-policy.ts"
import type { OnParentEnd } from "../journal/journal.ts"
import type { ClientFunction, Sql, Synchronous, TransactionClient } from "./transaction-sql.ts"
import type { QueryHandlerOf, QueryName, StepName, UpdateArguments, UpdateHandlerOf, UpdateName } from "./declared-handlers.ts"
import type { AnyWorkflow, EventMap, InputOf, ResultOf, SentOf } from "./workflow.ts"

/**
 * What workflow code is given: everything it may ask for.
 *
 * `Events`: the types of events that it takes, and what each carries. `Input`: what `continueAsNew` takes; of a function whose `ctx` has no type
 * of its own, that is the type of its input. `Handlers`: its queries and updates, `{ queries: { name(…): … }; updates: { name(…): … } }`, and
 * the names of its steps, `{ steps: "reserve" | "ship" }`; whatever is left out may have any name.
 */
export interface Context<Events = EventMap, Input = unknown, Handlers = unknown> extends Asks<Events, StepName<Handlers>> {
  /** Aborted when the instance is cancelled. Look at it where the code has to know; sleeps and waits reject by themselves. */
  readonly signal: AbortSignal
  /** Who the instance is: its id, workflow, version and run. */
  readonly instance: InstanceInfo
  /** The id of the step asked for last, for queries and logs. */
  readonly currentStep: string | undefined
  /** When this run began: the same on replay. */
  readonly startTime: Date
  /** The time of the last entry seen, in milliseconds since 1970: the same on replay. Use it in place of `Date.now()`. */
  now(): number
  /** A number from 0 up to 1, from a generator seeded by instance and run: the same on replay. Use it in place of `Math.random()`. */
  random(): number
  /** A UUID of version 4 from the same generator as `random`: the same on replay. */
  uuid(): string
  /** Writes to the log of the engine, with the id of the instance. Silent during replay. */
  readonly log: WorkflowLog
  /** What the instance is found by: those that it was started with, and those that its code adds or takes away. */
  readonly tags: InstanceTags
  /** Notes something about the instance for those who look at it: `describe` and `list` show it as `memo`. Undefined takes a key away. */
  setMemo(key: string, value: unknown): void
  setMemo(values: Readonly<Record<string, unknown>>): void
  /** Another name for `waitForEvent`. */
  waitForSignal: Asks<Events>["waitForEvent"]
  /**
   * From now on events of that type that nobody waits for go to the handler, those buffered first. It may use `ctx`; what it throws fails the run.
   *
   * @example
   * const votes: string[] = []
   * ctx.onEvent("vote", (vote) => votes.push(vote))
   * await ctx.condition(() => votes.length >= 2)
   */
  onEvent<K extends keyof Events & string>(type: K, handler: EventHandler<Events[K]>): void
  /**
   * Answers `handle.query(name, …)` from what the code knows; at once, and without asking for anything. A handler that asks `ctx` for something is refused
   * with `READ_ONLY_HANDLER`, one that returns a promise with `BAD_QUERY`.
   *
   * @example
   * let progress = 0
   * ctx.setQueryHandler("progress", () => progress)
   */
  setQueryHandler<Name extends QueryName<Handlers>, Args extends readonly unknown[]>(name: Name, handler: QueryHandlerOf<Handlers, Name, Args>): void
  /**
   * Does what `handle.update(name, …)` asks for, and answers it, once, also across crashes. It may use `ctx`. `validate` throws to refuse a request. What the
   * handler throws is the answer of the caller, and does not fail the run.
   *
   * @example
   * ctx.setUpdateHandler("add", async (item: string) => {
   *   await ctx.do("reserve", () => reserve(item))
   *   return items.push(item)
   * })
   */
  setUpdateHandler<Name extends UpdateName<Handlers>, Args extends readonly unknown[]>(name: Name, handler: UpdateHandlerOf<Handlers, Name, Args>): void
  setUpdateHandler<Name extends UpdateName<Handlers>, Args extends readonly unknown[]>(
    name: Name,
    options: NoInfer<UpdateOptions<UpdateArguments<Handlers, Name, Args>>>,
    handler: UpdateHandlerOf<Handlers, Name, Args>,
  ): void
  /**
   * Waits until the predicate says yes, which is asked at once, and again whenever something has happened to the workflow: a handler ran, a step is done.
   * It only reads what the code knows; what it throws rejects the condition. With a timeout: whether it came to that. Rejects with a `CancelledError`
   * if the instance is cancelled.
   */
  condition(predicate: () => boolean, options?: ConditionOptions & { readonly timeout?: never }): Promise<void>
  condition(predicate: () => boolean, options: ConditionOptions): Promise<boolean>
  /**
   * Starts another instance, once, also across crashes. Throws where it cannot be started, such as `ID_EXISTS` or `INVALID_INPUT`.
   *
   * @example
   * const child = await ctx.startChild(parcel, { id: `${ctx.instance.id}-lamp`, input: "lamp" })
   * await child.sendEvent("address", "12 Main Street")
   * const receipt = await child.result()
   */
  startChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildArgumentsOf<W>): Promise<ChildOf<W>>
  /**
   * Starts another instance, once, and waits for its result. Throws what `startChild` throws, and a `ChildFailedError` if the child does not complete.
   *
   * @example
   * const receipt = await ctx.runChild(parcel, { input: "lamp" })
   */
  runChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildArgumentsOf<W>): Promise<ResultOf<W>>
  /**
   * Ends this run and begins the next with this input and an empty journal, under the same id. Events that nobody took go along. It never returns; throws
   * `INVALID_INPUT` if the schema of the workflow refuses the input.
   *
   * @example
   * const counter = workflow("counter", async (ctx: Context<{ add: number }, number>, total: number): Promise<number> => {
   *   for (let i = 0; i < 1_000; i++) total += await ctx.waitForEvent("add")
   *   return ctx.continueAsNew(total)
   * })
   */
  continueAsNew(...input: ContinueArguments<Input>): Promise<never>
  /**
   * Whether the instance may take the changed path: false while it follows what older code recorded, then true and recorded. The same id gives the same answer
   * throughout a run.
   */
  patched(id: string): boolean
}

/** The input may be left out where the workflow takes none. */
export type ContinueArguments<In> = undefined extends In ? [input?: In] : [In] extends [void] ? [input?: In] : [input: In]

export type EventHandler<P> = (payload: P) => unknown
/** Any of them, whatever it takes. */
export type QueryHandler = (...args: never[]) => unknown
export type UpdateHandler = (...args: never[]) => unknown

/** Options of `setUpdateHandler`. */
export interface UpdateOptions<Args extends readonly unknown[] = never[]> {
  /** Throws to refuse a request before it is accepted. It sees what the workflow knows, and asks for nothing. */
  readonly validate?: (...args: Args) => void
}

/** Options of `startChild` and `runChild`. */
export interface ChildOptions<In> {
  /** Unique in the engine; default: one made of the parent's id and the workflow's name. */
  readonly id?: string
  /** What the child is given. Its workflow says whether it needs any. */
  readonly input?: In
  /** What becomes of the child if it is not over when its parent is; default `"cancel"`. */
  readonly onParentEnd?: OnParentEnd
  /** By name: which version; default: the last registered. */
  readonly version?: string
  /** Of the whole child: it is cancelled then, and ends as failed. Default: what its workflow says, else none. */
  readonly timeout?: Duration
  /** What the child is found by. */
  readonly tags?: readonly string[]
  /** Default: what the workflow says, else the queue of this instance. */
  readonly taskQueue?: string
}

/** Input may be left out where the workflow takes none. */
export type ChildArguments<In> = undefined extends In
  ? [options?: ChildOptions<In>]
  : [In] extends [void]
    ? [options?: ChildOptions<In>]
    : [options: ChildOptions<In> & { readonly input: In }]

/** The same, of a workflow or of one that is only named. */
export type ChildArgumentsOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? ChildArguments<InputOf<W>> : [options?: ChildOptions<unknown>]
export type ChildOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? Child<ResultOf<W>, SentOf<W>> : Child

/** An instance that the workflow started. */
export interface Child<Out = unknown, Sent = EventMap> {
  /** The id of the instance. */
  readonly id: string
  /** Waits for the child's result. Rejects with a `ChildFailedError` whose `cause` is the child's own error, a `CancelledError` or a `TerminatedError`. */
  result(): Promise<Out>
  /** Sends an event to the child: a step of the workflow, done once, also across crashes. Throws `INSTANCE_ENDED` if the child is over. */
  sendEvent<K extends keyof Sent & string>(type: K, ...payload: ChildPayload<Sent[K]>): Promise<void>
  /** Asks the child to end; it may clean up first. A step of the workflow, done once, also across crashes. */
  cancel(reason?: string): Promise<void>
}

/** A payload may be left out where the event has none. */
export type ChildPayload<P> = undefined extends P ? [payload?: P] : [payload: P]

/** What both workflow code and a step's function may ask for. */
export interface Asks<Events = EventMap, Names extends string = string> {
  /**
   * Runs `fn` and records its result; a recorded result is never computed again. A function that throws is tried again as `retry` says, by default up to three
   * attempts. Then it throws a `StepFailedError`. Throws a `CancelledError` if the instance is cancelled meanwhile.
   *
   * @example
   * const invoice = await ctx.do("create invoice", async ({ idempotencyKey, signal }) => createInvoice(idempotencyKey, signal), {
   *   retry: { maxAttempts: 5 },
   *   timeout: "30s",
   * })
   */
  do<T>(name: Names, fn: (step: StepContext<Events>) => T | Promise<T>, options?: StepOptions<NoInfer<T>>): Promise<T>
  /**
   * A step whose function writes to tables of your own in the store's database: what it writes and the record that it is done are
   * committed together, or neither is. What it throws rolls its writes back. On SQLite the function is synchronous; on PostgreSQL it is
   * awaited, and says so by the type of its client: `async (client: PoolClient) => …`. Throws what `do` throws; a store without SQL: `NO_TRANSACTIONS`.
   *
   * @example
   * const sale = await ctx.transaction("sell", (sql) => {
   *   sql.run("UPDATE stock SET left = left - 1 WHERE item = ?", item)
   *   return Number(sql.run("INSERT INTO sale (item) VALUES (?)", item).lastInsertRowid)
   * })
   */
  transaction<T>(name: Names, fn: (sql: Sql, step: TransactionContext) => Synchronous<T>, options?: StepOptions<NoInfer<T>>): Promise<T>
  transaction<T, Client extends TransactionClient = never>(
    name: Names,
    fn: ClientFunction<Client, TransactionContext, T>,
    options?: StepOptions<NoInfer<T>>,
  ): Promise<T>
  /**
   * Sleeps for this long, also across crashes and deploys: the end is fixed when the sleep begins. Rejects with a `CancelledError` if the instance is
   * cancelled; throws `BAD_DURATION` for what is no duration.
   *
   * @example
   * await ctx.sleep("cool-off", "7d")
   */
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>
  /** Sleeps until this time: a Date, milliseconds since 1970 or ISO 8601 text. A time in the past returns at once. Rejects with a `CancelledError`. */
  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void>
  /**
   * Waits for an event of that type, first in first out; one that came before is taken at once. It waits for ever by default. A timeout gives `default`, or
   * throws an `EventTimeoutError`. Rejects with a `CancelledError` if the instance is cancelled.
   *
   * @example
   * const { by } = await ctx.waitForEvent("approval", { timeout: "2d", default: { by: "nobody" } })
   */
  waitForEvent<K extends keyof Events & string, D>(type: K, options: WaitOptions & { readonly type?: never; readonly default: D }): Promise<Events[K] | D>
  waitForEvent<K extends keyof Events & string>(type: K, options?: WaitOptions & { readonly type?: never; readonly default?: never }): Promise<Events[K]>
  waitForEvent<K extends keyof Events & string, D>(name: string, options: WaitOptions & { readonly type: K; readonly default: D }): Promise<Events[K] | D>
  waitForEvent<K extends keyof Events & string>(name: string, options: WaitOptions & { readonly type: K; readonly default?: never }): Promise<Events[K]>
  /**
   * Waits for an event as `waitForEvent` does, and gives its type, its id and the time at which it was received with its payload. A timeout throws an
   * `EventTimeoutError`.
   *
   * @example
   * const { payload, receivedAt } = await ctx.receiveEvent("approval", { timeout: "2d" })
   */
  receiveEvent<K extends keyof Events & string>(type: K, options?: ReceiveOptions & { readonly type?: never }): Promise<ReceivedEvent<Events[K]>>
  receiveEvent<K extends keyof Events & string>(name: string, options: ReceiveOptions & { readonly type: K }): Promise<ReceivedEvent<Events[K]>>
}

/** An event as `receiveEvent` gives it. */
export interface ReceivedEvent<P = unknown> {
  /** The type that the sender named. */
  readonly type: string
  /** What the event carries. */
  readonly payload: P
  /** When the event was received, in milliseconds since 1970. */
  readonly receivedAt: number
  /** The id that the sender gave the event. Absent: none. */
  readonly eventId?: string
}

/** What a step's function is given. */
export interface StepContext<Events = EventMap> {
  /** Counts from 1, also across crashes. */
  readonly attempt: number
  /** The same for every attempt of this step, new after a restart: give it to whatever must not happen twice. */
  readonly idempotencyKey: string
  /** Aborted on timeout, cancel, terminate and a lost lease. */
  readonly signal: AbortSignal
  /** Nested steps, recorded under this one. */
  readonly step: Asks<Events>
}

/** What the function of a transaction is given beside the SQL. */
export type TransactionContext = Pick<StepContext, "attempt" | "idempotencyKey" | "signal">

/** Options of a step. */
export interface StepOptions<T = unknown> {
  /** When a failed attempt is followed by another. Default: what the workflow says, else that of the engine. */
  readonly retry?: RetryOptions
  /** Of one attempt, which then fails with `STEP_TIMEOUT`; a result that comes later is dropped. Default: none. */
  readonly timeout?: Duration
  /** Over all attempts, from the first one's start: then the step fails with `DEADLINE_EXCEEDED`. Default: none. */
  readonly deadline?: Duration
  /** What it gives and what it fails with is for the code alone: redacted wherever else it would be shown. Default false. */
  readonly sensitive?: boolean
  /** Undoes the completed step if the run fails or is cancelled: newest first, as a durable step of its own. */
  readonly rollback?: Rollback<T>
}

/** What undoes a step: a function, or a function with the options of the step that it becomes. */
export type Rollback<T> =
  | RollbackFunction<T>
  | (Omit<StepOptions, "rollback"> & {
      /** Undoes the step. */
      readonly run: RollbackFunction<T>
    })
/**
 * Undoes a step. The function gets what the step returned. Where the workflow's `rollbackPolicy` is `{ of: "started" }`, a step that did not complete has
 * no result: the function gets `undefined`.
 */
export type RollbackFunction<T> = (result: T, step: RollbackContext) => unknown

/** The context of the step that a rollback is. */
export interface RollbackContext extends StepContext {
  /** What the run failed with, or a `CancelledError` or `TerminatedError`. */
  readonly error: unknown
  /** How many attempts the step had that is undone. */
  readonly attempts: number
}

/** Options of `sleep` and `sleepUntil`. */
export interface SleepOptions {
  /** Ends the sleep: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** Options of `waitForEvent`. */
export interface WaitOptions {
  /** The event's type; default: the name. */
  readonly type?: string
  /** How long to wait; default: for ever. */
  readonly timeout?: Duration
  /** What a timeout gives. Default: a timeout throws an `EventTimeoutError`. */
  readonly default?: unknown
  /** Ends the wait: it rejects with the reason of the signal, and takes no event. */
  readonly signal?: AbortSignal
}

/** Options of `receiveEvent`. */
export type ReceiveOptions = Omit<WaitOptions, "default">

/** Options of `condition`. */
export interface ConditionOptions {
  /** Default: `"condition"`. */
  readonly name?: string
  /** How long to wait; default: for ever. */
  readonly timeout?: Duration
  /** Ends the wait: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** The tags of an instance, as its code sees and changes them. */
export interface InstanceTags extends Iterable<string> {
  /** How many there are. */
  readonly size: number
  /** Whether the instance has the tag. */
  has(tag: string): boolean
  /** Adds tags; those that are there stay. At most 32 of at most 128 characters each, else `BAD_OPTION` or `BAD_NAME`. */
  add(...tags: readonly string[]): void
  /** Takes tags away; those that are not there are passed over. */
  delete(...tags: readonly string[]): void
}

/** Who an instance is. */
export interface InstanceInfo {
  /** Unique in the engine. */
  readonly id: string
  /** The name of its workflow. */
  readonly workflow: string
  /** The version of the workflow that it was started with, and keeps. */
  readonly version: string
  /** 1, and one more at each restart and each `continueAsNew`. */
  readonly run: number
  /** When this run began, in milliseconds since 1970. */
  readonly startedAt: number
  /** Random text that tells the instance from a later one with the same id. */
  readonly incarnation: string
  /** 1, and one more for each crash of the worker that ran it, as far as the code has come: at any place in the code the same on replay. */
  readonly attempt: number
  /** The instance that started it. */
  readonly parentId?: string
  /** Where a schedule started it: which one, and for which of its times. */
  readonly schedule?: { readonly id: string; readonly scheduledAt: number }
}

/** Writes to the log of the engine, with the id of the instance. During replay nothing is written. */
export interface WorkflowLog {
  /** Details, for whoever looks for a fault. */
  debug(message: string, data?: Record<string, unknown>): void
  /** What happens in good order. */
  info(message: string, data?: Record<string, unknown>): void
  /** What may become a problem. */
  warn(message: string, data?: Record<string, unknown>): void
  /** What went wrong. */
  error(message: string, data?: Record<string, unknown>): void
}
