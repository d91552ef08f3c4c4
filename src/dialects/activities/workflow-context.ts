import type { Duration } from "../../core/time/duration.ts"
import type { Child, ChildOptions, ChildPayload, Context, SleepOptions } from "../../core/workflow/context.ts"
import type { AnyWorkflow, EventMap, InputOf, ResultOf, SentOf } from "../../core/workflow/workflow.ts"

/**
 * The `ctx` of workflow code: the context of `perdure`, where sleeps need no name, and a child has a `workflowId` and takes signals.
 *
 * `Signals` has the signals that the workflow receives, and the payload of each. `Input` is the argument of `continueAsNew`, and `Handlers` declares queries
 * and updates: `{ queries: { status(): string } }`.
 */
export interface WorkflowContext<Signals = EventMap, Input = unknown, Handlers = unknown> extends Omit<
  Context<Signals, Input, Handlers>,
  "sleep" | "sleepUntil" | "startChild" | "runChild"
> {
  /**
   * Sleeps for this long, also across crashes and deploys. Sleeps without a name are numbered by their position in the code. Rejects with a
   * `CancelledError` if the workflow is cancelled.
   *
   * @example
   * await ctx.sleep("30d")
   */
  sleep(duration: Duration, options?: SleepOptions): Promise<void>
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>
  /**
   * Sleeps until this time: a Date, milliseconds since 1970, or ISO 8601 text. A time in the past returns at once.
   *
   * @example
   * await ctx.sleepUntil("2024-02-01T00:00:00Z")
   */
  sleepUntil(time: Date | number | string, options?: SleepOptions): Promise<void>
  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void>
  /**
   * Starts a child workflow, once, also across crashes. It is in the task queue of this workflow unless `taskQueue` names another one.
   *
   * @example
   * const children = await Promise.all(orders.map((order) => ctx.startChild(processOrder, { workflowId: `order-${order.id}`, input: order })))
   * const receipts = await Promise.all(children.map((child) => child.result()))
   */
  startChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildWorkflowArguments<W>): Promise<ChildWorkflow<W>>
  /** Starts a child workflow, once, and waits for its result. Throws a `ChildFailedError` if the child does not complete. */
  executeChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildWorkflowArguments<W>): Promise<ResultOf<W>>
}

/** Options of `startChild` and `executeChild`. */
export interface ChildWorkflowOptions<In> extends Omit<ChildOptions<In>, "id"> {
  /** The id of the child, unique in the store. Default: one made of the parent's id and the workflow's name. */
  readonly workflowId?: string
}

type ChildWorkflowArgumentsFor<In> = undefined extends In
  ? [options?: ChildWorkflowOptions<In>]
  : [In] extends [void]
    ? [options?: ChildWorkflowOptions<In>]
    : [options: ChildWorkflowOptions<In> & { readonly input: In }]
/** The options of a child that is given as its definition or by its name. `input` may be left out if the workflow takes none. */
export type ChildWorkflowArguments<W extends AnyWorkflow | string> = W extends AnyWorkflow
  ? ChildWorkflowArgumentsFor<InputOf<W>>
  : [options?: ChildWorkflowOptions<unknown>]

type ChildSignals<W extends AnyWorkflow | string> = W extends AnyWorkflow ? SentOf<W> : EventMap

/** The handle of a child workflow. */
export interface ChildWorkflow<W extends AnyWorkflow | string = string> {
  /** The id of the child. */
  readonly workflowId: string
  /** Waits for the child's result. Rejects with a `ChildFailedError`, whose `cause` is the child's own error. */
  result(): Promise<ResultOf<W>>
  /** Sends a signal to the child, once, also across crashes. Throws `INSTANCE_ENDED` if the child has ended. */
  signal<K extends keyof ChildSignals<W> & string>(name: K, ...payload: ChildPayload<ChildSignals<W>[K]>): Promise<void>
  /** Cancels the child, which may clean up first. */
  cancel(reason?: string): Promise<void>
}

/** The names of sleeps that the code does not name. The second one is `sleep#2`. */
const sleepName = "sleep"

/** The context of this dialect over that of `perdure`. Members that are the same in both are those of `native`. */
export function workflowContext(native: Context): WorkflowContext {
  const own: Partial<Record<PropertyKey, unknown>> = {
    sleep: (...given: SleepArguments<Duration>) => native.sleep(...namedSleep(given)),
    sleepUntil: (...given: SleepArguments<Date | number | string>) => native.sleepUntil(...namedSleep(given)),
    startChild: (workflow: AnyWorkflow | string, options?: ChildWorkflowOptions<unknown>) =>
      native.startChild(workflow as string, childOptions(options)).then(childWorkflow),
    executeChild: (workflow: AnyWorkflow | string, options?: ChildWorkflowOptions<unknown>) => native.runChild(workflow as string, childOptions(options)),
  }
  // A proxy, because the members of the native context are getters of a class, and some make their value only when they are asked for.
  return new Proxy(native, {
    get(target, key) {
      if (key in own) return own[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === "function" ? (value.bind(target) as unknown) : value
    },
  }) as unknown as WorkflowContext
}

type SleepArguments<When> = [when: When, options?: SleepOptions] | [name: string, when: When, options?: SleepOptions]

/** A second argument that is no options object is a time, so the first one is a name. */
function namedSleep<When>(given: SleepArguments<When>): [name: string, when: When, options?: SleepOptions] {
  const [, second] = given
  const isNamed = second !== undefined && (typeof second !== "object" || second instanceof Date)
  if (isNamed) return given as [string, When, SleepOptions?]
  const [when, options] = given as [When, SleepOptions?]
  return options === undefined ? [sleepName, when] : [sleepName, when, options]
}

function childOptions({ workflowId, ...options }: ChildWorkflowOptions<unknown> = {}): ChildOptions<unknown> {
  return workflowId === undefined ? options : { ...options, id: workflowId }
}

function childWorkflow(child: Child): ChildWorkflow {
  return {
    workflowId: child.id,
    result: () => child.result(),
    signal: (name, ...payload) => child.sendEvent(name, ...payload),
    cancel: (reason) => child.cancel(reason),
  }
}
