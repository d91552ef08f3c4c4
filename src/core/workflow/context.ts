import type { ActivityArgumentsOf, ActivityResultOf, AnyActivity } from "./activity.ts"
import type { Duration } from "../time/duration.ts"
import type { Retention } from "./retention.ts"
import type { RetryOptions } from "./retry-policy.ts"
import type { OnParentEnd } from "../journal/journal.ts"
import type { ClientFunction, Sql, Synchronous, TransactionClient } from "./transaction-sql.ts"
import type { QueryHandlerOf, QueryName, StepName, UpdateArguments, UpdateHandlerOf, UpdateName } from "./declared-handlers.ts"
import type { AnyWorkflow, EventMap, InputOf, ResultOf, SentOf } from "./workflow.ts"

/**
 * The `ctx` of workflow code: everything that the code may ask for.
 *
 * `Events` has the types of events that the workflow receives, and the payload of each. `Input` is the argument of `continueAsNew`; it defaults to the
 * type of the workflow's input if `ctx` has no type annotation. `Handlers` declares queries and updates,
 * `{ queries: { name(…): … }; updates: { name(…): … } }`, and the names of steps, `{ steps: "reserve" | "ship" }`. A kind that it leaves out may have any name.
 */
export interface Context<Events = EventMap, Input = unknown, Handlers = unknown> extends Asks<Events, StepName<Handlers>> {
  /** Aborts when the instance is cancelled. Sleeps and waits reject without it; use it to notice a cancel elsewhere. */
  readonly signal: AbortSignal
  /** The instance: its id, workflow, version and run. */
  readonly instance: InstanceInfo
  /** The id of the step that the code asked for last, for queries and logs. */
  readonly currentStep: string | undefined
  /** When this run started. Replay gives the same time. */
  readonly startTime: Date
  /** The time of the last journal entry that the code has seen, in milliseconds since 1970. Replay gives the same time. Use it instead of `Date.now()`. */
  now(): number
  /** A random number from 0 up to 1, seeded by instance and run. Replay gives the same numbers. Use it instead of `Math.random()`. */
  random(): number
  /** A UUID of version 4 from the same generator as `random`. Replay gives the same UUIDs. */
  uuid(): string
  /** Writes to the log of the engine, with the id of the instance. During replay it writes nothing. */
  readonly log: WorkflowLog
  /** The tags by which the instance is found. The code may add and remove tags. */
  readonly tags: InstanceTags
  /** Sets a key of the instance's memo, which `describe` and `list` show. The value undefined removes the key. */
  setMemo(key: string, value: unknown): void
  setMemo(values: Readonly<Record<string, unknown>>): void
  /** Another name for `waitForEvent`. */
  waitForSignal: Asks<Events>["waitForEvent"]
  /**
   * From now on the handler receives events of this type that no wait takes, buffered events first. The handler may use `ctx`. An error that it throws
   * fails the run.
   *
   * @example
   * const votes: string[] = []
   * ctx.onEvent("vote", (vote) => votes.push(vote))
   * await ctx.condition(() => votes.length >= 2)
   */
  onEvent<K extends keyof Events & string>(type: K, handler: EventHandler<Events[K]>): void
  /**
   * Answers `handle.query(name, …)` from the present state of the code. The handler must answer at once and may only read: a use of `ctx` that asks for
   * something throws `READ_ONLY_HANDLER`, and a promise as the answer throws `BAD_QUERY`.
   *
   * @example
   * let progress = 0
   * ctx.setQueryHandler("progress", () => progress)
   */
  setQueryHandler<Name extends QueryName<Handlers>, Args extends readonly unknown[]>(name: Name, handler: QueryHandlerOf<Handlers, Name, Args>): void
  /**
   * Handles `handle.update(name, …)`, once for each update, also across crashes. The handler may use `ctx`. `validate` throws to refuse a request. The
   * caller gets the result or the error of the handler; an error does not fail the run.
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
   * Waits until the predicate returns true. The predicate is called at once, and again each time that something has happened to the workflow, such as a
   * handler or the end of a step. It may only read; an error that it throws rejects the condition. With a timeout, the result tells whether the predicate
   * held in time. Rejects with a `CancelledError` if the instance is cancelled.
   */
  condition(predicate: () => boolean, options?: ConditionOptions & { readonly timeout?: never }): Promise<void>
  condition(predicate: () => boolean, options: ConditionOptions): Promise<boolean>
  /**
   * Starts a child instance, once, also across crashes. Throws if it cannot be started, with codes such as `ID_EXISTS` or `INVALID_INPUT`.
   *
   * @example
   * const child = await ctx.startChild(parcel, { id: `${ctx.instance.id}-lamp`, input: "lamp" })
   * await child.sendEvent("address", "12 Main Street")
   * const receipt = await child.result()
   */
  startChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildArgumentsOf<W>): Promise<ChildOf<W>>
  /**
   * Starts a child instance, once, and waits for its result. Throws the errors of `startChild`, and a `ChildFailedError` if the child does not complete.
   *
   * @example
   * const receipt = await ctx.runChild(parcel, { input: "lamp" })
   */
  runChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildArgumentsOf<W>): Promise<ResultOf<W>>
  /**
   * Runs an activity in a process that offers it, and records its result. The activity is given as its definition, or by its name. It runs here if this
   * engine has it and serves its task queue, else in a worker of that queue. Throws a `StepFailedError` if all attempts fail.
   *
   * @example
   * const reserved = await ctx.activity(reserveInventory, { input: items, retry: { maxAttempts: 3 } })
   */
  activity<A extends AnyActivity | string>(activity: A, ...options: ActivityArgumentsOf<A>): Promise<ActivityResultOf<A>>
  /**
   * Ends this run and starts the next one under the same id, with this input and an empty journal. Buffered events move to the next run. The call never
   * returns. Throws `INVALID_INPUT` if the schema of the workflow refuses the input.
   *
   * @example
   * const counter = workflow("counter", async (ctx: Context<{ add: number }, number>, total: number): Promise<number> => {
   *   for (let i = 0; i < 1_000; i++) total += await ctx.waitForEvent("add")
   *   return ctx.continueAsNew(total)
   * })
   */
  continueAsNew(...input: ContinueArguments<Input>): Promise<never>
  /**
   * Whether the instance may take a changed path of the code: false while it replays asks that older code recorded, then true, which is recorded. One id
   * gives one answer throughout a run.
   */
  patched(id: string): boolean
}

/** The arguments of `continueAsNew`: the input may be left out if the workflow takes none. */
export type ContinueArguments<In> = undefined extends In ? [input?: In] : [In] extends [void] ? [input?: In] : [input: In]

export type EventHandler<P> = (payload: P) => unknown
/** A query handler with any arguments. */
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
  /** The input of the child. Its workflow decides whether an input is required. */
  readonly input?: In
  /** What the engine does with a running child when its parent ends. Default `"cancel"`. */
  readonly onParentEnd?: OnParentEnd
  /** The version, if the workflow is given by name. Default: the last registered version. */
  readonly version?: string
  /** The time for the whole child. Then it is cancelled and ends as failed. Default: the timeout of its workflow, else none. */
  readonly timeout?: Duration
  /** Tags by which the child is found. */
  readonly tags?: readonly string[]
  /** The task queue of the child. Default: the queue of its workflow, else the queue of this instance. */
  readonly taskQueue?: string
  /** How long the child is kept when it has ended. Default: the retention of its workflow, else for ever. */
  readonly retention?: Retention
}

/** The options of a child: `input` may be left out if the workflow takes none. */
export type ChildArguments<In> = undefined extends In
  ? [options?: ChildOptions<In>]
  : [In] extends [void]
    ? [options?: ChildOptions<In>]
    : [options: ChildOptions<In> & { readonly input: In }]

/** The options of a child that is given as a workflow or by name. */
export type ChildArgumentsOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? ChildArguments<InputOf<W>> : [options?: ChildOptions<unknown>]
export type ChildOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? Child<ResultOf<W>, SentOf<W>> : Child

/** The handle of a child instance. */
export interface Child<Out = unknown, Sent = EventMap> {
  /** The id of the instance. */
  readonly id: string
  /** Waits for the child's result. Rejects with a `ChildFailedError`; its `cause` is the child's own error, a `CancelledError` or a `TerminatedError`. */
  result(): Promise<Out>
  /** Sends an event to the child, as a step of the workflow: once, also across crashes. Throws `INSTANCE_ENDED` if the child has ended. */
  sendEvent<K extends keyof Sent & string>(type: K, ...payload: ChildPayload<Sent[K]>): Promise<void>
  /** Cancels the child, which may clean up first. The call is a step of the workflow, done once, also across crashes. */
  cancel(reason?: string): Promise<void>
}

/** The payload argument, which may be left out if the event has none. */
export type ChildPayload<P> = undefined extends P ? [payload?: P] : [payload: P]

/** The asks that both workflow code and a step's function may make. */
export interface Asks<Events = EventMap, Names extends string = string> {
  /**
   * Runs `fn` and records its result; a recorded result is never computed again. If `fn` throws, it is tried again as `retry` says, by default up to three
   * attempts. Then the step throws a `StepFailedError`. Throws a `CancelledError` if the instance is cancelled meanwhile.
   *
   * @example
   * const invoice = await ctx.do("create invoice", async ({ idempotencyKey, signal }) => createInvoice(idempotencyKey, signal), {
   *   retry: { maxAttempts: 5 },
   *   timeout: "30s",
   * })
   */
  do<T>(name: Names, fn: (step: StepContext<Events>) => T | Promise<T>, options?: StepOptions<NoInfer<T>>): Promise<T>
  /**
   * A step whose function writes to your own tables in the store's database. Its writes and the record of its completion are committed together, or
   * neither is. An error that it throws rolls its writes back. On SQLite the function is synchronous. On PostgreSQL it is async, and declares the type of
   * its client: `async (client: PoolClient) => …`. Throws the errors of `do`, and `NO_TRANSACTIONS` on a store without SQL.
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
   * Sleeps for this long, also across crashes and deploys: the end is fixed when the sleep starts. Rejects with a `CancelledError` if the instance is
   * cancelled, and with `BAD_DURATION` for a wrong duration.
   *
   * @example
   * await ctx.sleep("cool-off", "7d")
   */
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>
  /** Sleeps until this time: a Date, milliseconds since 1970, or ISO 8601 text. A time in the past returns at once. Rejects with a `CancelledError`. */
  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void>
  /**
   * Waits for an event of this type, first in, first out; a buffered event is taken at once. By default the wait has no timeout. A timeout returns
   * `default`, or throws an `EventTimeoutError`. Rejects with a `CancelledError` if the instance is cancelled.
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
  /** The payload of the event. */
  readonly payload: P
  /** When the event was received, in milliseconds since 1970. */
  readonly receivedAt: number
  /** The id that the sender gave the event. Absent: none. */
  readonly eventId?: string
}

/** The context of a step's function. */
export interface StepContext<Events = EventMap> {
  /** The number of the attempt, from 1 on; crashes do not reset it. */
  readonly attempt: number
  /** A key that is the same for every attempt of this step, and new after a restart. Give it to services that must not act twice. */
  readonly idempotencyKey: string
  /** Aborts on a timeout, a cancel, a terminate and a lost lease. */
  readonly signal: AbortSignal
  /** Asks for steps inside this step. */
  readonly step: Asks<Events>
}

/** The context of a transaction's function. */
export type TransactionContext = Pick<StepContext, "attempt" | "idempotencyKey" | "signal">

/** Options of a step. */
export interface StepOptions<T = unknown> {
  /** How failed attempts are retried. Default: as the workflow says, else as the engine says. */
  readonly retry?: RetryOptions
  /** The time for one attempt. Then the attempt fails with `STEP_TIMEOUT`, and its later result is dropped. Default: none. */
  readonly timeout?: Duration
  /** The time for all attempts, from the start of the first one. Then the step fails with `DEADLINE_EXCEEDED`. Default: none. */
  readonly deadline?: Duration
  /** Only the code gets the step's result and error; they are redacted wherever else they would be shown. Default false. */
  readonly sensitive?: boolean
  /** Undoes the completed step if the run fails or is cancelled. Rollbacks run newest first, each as a durable step of its own. */
  readonly rollback?: Rollback<T>
}

/** The rollback of a step: a function, or a function with options for the step that runs it. */
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

/** The context of a rollback, which is a step of its own. */
export interface RollbackContext extends StepContext {
  /** The error of the failed run, or a `CancelledError` or `TerminatedError`. */
  readonly error: unknown
  /** How many attempts the step had that this rollback undoes. */
  readonly attempts: number
}

/** Options of `sleep` and `sleepUntil`. */
export interface SleepOptions {
  /** Ends the sleep, which rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** Options of `waitForEvent`. */
export interface WaitOptions {
  /** The event's type; default: the name. */
  readonly type?: string
  /** How long to wait; default: for ever. */
  readonly timeout?: Duration
  /** The result of a timeout. Default: a timeout throws an `EventTimeoutError`. */
  readonly default?: unknown
  /** Ends the wait, which rejects with the signal's reason and takes no event. */
  readonly signal?: AbortSignal
}

/** Options of `receiveEvent`. */
export type ReceiveOptions = Omit<WaitOptions, "default">

/** Options of `condition`. */
export interface ConditionOptions {
  /** The name of the condition. Default: `"condition"`. */
  readonly name?: string
  /** How long to wait; default: for ever. */
  readonly timeout?: Duration
  /** Ends the wait, which rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** The tags of an instance, as its code sees and changes them. */
export interface InstanceTags extends Iterable<string> {
  /** The number of tags. */
  readonly size: number
  /** Whether the instance has the tag. */
  has(tag: string): boolean
  /** Adds tags. An instance has at most 32 tags of at most 128 characters each, else `BAD_OPTION` or `BAD_NAME` is thrown. */
  add(...tags: readonly string[]): void
  /** Removes tags. Tags that the instance does not have are ignored. */
  delete(...tags: readonly string[]): void
}

/** Facts about an instance. */
export interface InstanceInfo {
  /** The id, unique in the store. */
  readonly id: string
  /** The name of the instance's workflow. */
  readonly workflow: string
  /** The version of the workflow that the instance was started with, and keeps. */
  readonly version: string
  /** The number of the run: 1, and one more after each restart and each `continueAsNew`. */
  readonly run: number
  /** When this run started, in milliseconds since 1970. */
  readonly startedAt: number
  /** A random token that tells the instance from a later one with the same id. */
  readonly incarnation: string
  /** 1, and one more for each crash of a worker that ran the instance up to this point of the code. Replay gives the same number at the same point. */
  readonly attempt: number
  /** The id of the parent instance. */
  readonly parentId?: string
  /** The schedule that started the instance, and the time that it fired for. */
  readonly schedule?: { readonly id: string; readonly scheduledAt: number }
}

/** Writes to the log of the engine, with the id of the instance. During replay nothing is written. */
export interface WorkflowLog {
  /** Writes details that help to find a fault. */
  debug(message: string, data?: Record<string, unknown>): void
  /** Writes that something normal has happened. */
  info(message: string, data?: Record<string, unknown>): void
  /** Writes that something may become a problem. */
  warn(message: string, data?: Record<string, unknown>): void
  /** Writes that something has gone wrong. */
  error(message: string, data?: Record<string, unknown>): void
}
