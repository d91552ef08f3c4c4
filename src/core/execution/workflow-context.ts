import { activityAsk, activityName } from "./activity-ask.ts"
import type { Annotations } from "./annotations.ts"
import { Asker, type AskSink, type WaitAsk } from "./ask.ts"
import type {
  Child,
  ChildArgumentsOf,
  ChildOf,
  ChildOptions,
  ConditionOptions,
  EventHandler,
  InstanceInfo,
  InstanceTags,
  QueryHandler,
  UpdateHandler,
  UpdateOptions,
  WaitOptions,
  WorkflowLog,
} from "../workflow/context.ts"
import type { ActivityArgumentsOf, ActivityOptions, ActivityResultOf, AnyActivity } from "../workflow/activity.ts"
import { durationMs } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"
import type { AskFor, Children } from "./child-handles.ts"
import type { EventHandlers } from "./event-handlers.ts"
import { checkEventType, type Limits } from "../workflow/input-limits.ts"
import type { QueryUpdateHandlers } from "./query-update-handlers.ts"
import { SeededRandom } from "./seeded-random.ts"
import { markHandled } from "./promise-call.ts"
import type { AnyWorkflow, ResultOf } from "../workflow/workflow.ts"

/** What the context of workflow code needs of its execution. */
export interface ContextSource extends AskSink {
  readonly instance: InstanceInfo
  readonly signal: AbortSignal
  readonly lastAsked: string | undefined
  readonly now: number
  /** The seed of the random numbers. */
  readonly seed: string
  readonly annotations: Annotations
  readonly handlers: EventHandlers
  /** The handlers of queries and updates that the code has set. */
  readonly queryUpdateHandlers: QueryUpdateHandlers
  /** A handler was registered. Buffered events may match it. */
  newHandler(): void
  /** Throws in a handler that may only read. */
  refuseInHandler(): void
  patched(patch: string): boolean
  continueAsNew(input: unknown): Promise<void>
  readonly children: Children
  /** Writes a line of the workflow's log, except during replay. */
  say(level: keyof WorkflowLog, message: string, data?: Record<string, unknown>): void
}

/** The `ctx` of workflow code. Each instance in memory has one, so members that few workflows use are created on demand. */
export class WorkflowContext extends Asker {
  readonly #source: ContextSource
  readonly #limits: Limits
  #random: SeededRandom | undefined

  constructor(source: ContextSource, duplicateSteps: "number" | "error", limits: Limits) {
    super(source, undefined, duplicateSteps, limits)
    this.#source = source
    this.#limits = limits
  }

  get instance(): InstanceInfo {
    return this.#source.instance
  }

  get signal(): AbortSignal {
    return this.#source.signal
  }

  get startTime(): Date {
    return new Date(this.#source.instance.startedAt)
  }

  get currentStep(): string | undefined {
    return this.#source.lastAsked
  }

  waitForSignal(name: string, options?: WaitOptions): Promise<never> {
    return this.waitForEvent(name, options)
  }

  condition(predicate: () => boolean, { name, timeout, signal }: ConditionOptions = {}): Promise<never> {
    const make = (id: string): WaitAsk => {
      checkFunction(`the predicate of condition "${id}"`, predicate)
      const timeoutMs = timeout === undefined ? undefined : durationMs(timeout, `the timeout of condition "${id}"`)
      return { kind: "wait", id, signal, event: undefined, timeoutMs, fallback: { value: false }, until: predicate }
    }
    // Without a name from the user, conditions are numbered even with duplicateSteps "error".
    return (name === undefined ? this.askFor("condition", make, "number") : this.askFor(name, make)) as Promise<never>
  }

  get log(): WorkflowLog {
    const speak = (level: keyof WorkflowLog) => (message: string, data?: Record<string, unknown>) => this.#source.say(level, message, data)
    return { debug: speak("debug"), info: speak("info"), warn: speak("warn"), error: speak("error") }
  }

  get tags(): InstanceTags {
    return this.#source.annotations
  }

  setMemo(first: string | Record<string, unknown>, second?: unknown): void {
    this.#source.annotations.setMemo(first, second)
  }

  now(): number {
    return this.#source.now
  }

  random(): number {
    return this.#seeded.next()
  }

  uuid(): string {
    return this.#seeded.uuid()
  }

  onEvent(type: string, handler: EventHandler<never>): void {
    checkEventType(type, this.#limits.eventTypeLengthMax)
    checkFunction(`the handler of event "${type}"`, handler)
    this.#source.refuseInHandler()
    this.#source.handlers.onEvent(type, handler)
    this.#source.newHandler()
  }

  setQueryHandler(name: string, handler: QueryHandler): void {
    checkFunction(`the handler of query "${name}"`, handler)
    this.#source.refuseInHandler()
    this.#source.queryUpdateHandlers.setQuery(name, handler)
  }

  setUpdateHandler(name: string, first: UpdateOptions | UpdateHandler, second?: UpdateHandler): void {
    const handler = typeof first === "function" ? first : second
    checkFunction(`the handler of update "${name}"`, handler)
    this.#source.refuseInHandler()
    this.#source.queryUpdateHandlers.setUpdate(name, typeof first === "function" ? {} : first, handler as UpdateHandler)
    this.#source.newHandler()
  }

  patched(id: string): boolean {
    return this.#source.patched(id)
  }

  async continueAsNew(input?: unknown): Promise<never> {
    await this.#source.continueAsNew(input)
    return new Promise<never>(() => undefined)
  }

  startChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildArgumentsOf<W>): Promise<ChildOf<W>>
  startChild(workflow: AnyWorkflow | string, options: ChildOptions<unknown> = {}): Promise<Child> {
    return this.#withChildren((children, askFor) => children.start(askFor, workflow, options))
  }

  runChild<W extends AnyWorkflow | string>(workflow: W, ...options: ChildArgumentsOf<W>): Promise<ResultOf<W>>
  runChild(workflow: AnyWorkflow | string, options: ChildOptions<unknown> = {}): Promise<unknown> {
    return this.#withChildren((children, askFor) => children.run(askFor, workflow, options))
  }

  activity<A extends AnyActivity | string>(activity: A, ...options: ActivityArgumentsOf<A>): Promise<ActivityResultOf<A>>
  activity(activity: AnyActivity | string, options: ActivityOptions = {}): Promise<unknown> {
    try {
      return this.askFor(activityName(activity), (id) => activityAsk(id, activity, options, this.#limits))
    } catch (error) {
      return markHandled(Promise.reject(error as Error))
    }
  }

  /** Rejects if the code must not start children here, like every other failure of an ask. */
  #withChildren<T>(call: (children: Children, askFor: AskFor) => Promise<T>): Promise<T> {
    try {
      return call(this.#source.children, (name, make, duplicates) => this.askFor(name, make, duplicates))
    } catch (error) {
      return markHandled(Promise.reject(error as Error))
    }
  }

  /** The generator. Drawing changes its state, so a handler that may only read is refused. */
  get #seeded(): SeededRandom {
    this.#source.refuseInHandler()
    this.#random ??= new SeededRandom(this.#source.seed)
    return this.#random
  }
}

function checkFunction(what: string, value: unknown): void {
  if (typeof value !== "function") throw new PerdureError("BAD_OPTION", `${what} is not a function`)
}
