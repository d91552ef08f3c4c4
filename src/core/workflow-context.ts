import type { Annotations } from "./annotations.ts"
import { Asker, type AskSink, type ChildAsk, type DoAsk, type WaitAsk } from "./ask.ts"
import { encodeValue, Payload } from "./codec.ts"
import type {
  Child,
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
} from "./context.ts"
import { durationMs } from "./duration.ts"
import { PerdureError } from "./errors.ts"
import type { ChildReach } from "./execution-spec.ts"
import type { Handlers } from "./handlers.ts"
import { checkEventType, checkId, type Limits } from "./limits.ts"
import { SeededRandom } from "./seeded-random.ts"
import { childId } from "./child-id.ts"
import { isStoreTrouble } from "./store-trouble.ts"
import type { AnyWorkflow } from "./workflow.ts"

/** What the context of workflow code needs of its execution. */
export interface ContextSource {
  readonly instance: InstanceInfo
  readonly ask: AskSink
  readonly signal: AbortSignal
  readonly lastAsked: string | undefined
  readonly now: number
  /** What random numbers are drawn from. */
  readonly seed: string
  readonly annotations: Annotations
  readonly handlers: Handlers
  /** A handler was set: events that are buffered may be for it. */
  newHandler(): void
  /** Throws where nothing may change: while a query is answered. */
  refuseInHandler(): void
  patched(patch: string): boolean
  continueAsNew(input: unknown): Promise<void>
  startChild(start: ChildStart): DoAsk["fn"]
  reachChild(instance: string): ChildReach
  childResult(step: string): Promise<unknown>
  /** Writes a line of the workflow's log, unless it was written before. */
  say(level: keyof WorkflowLog, message: string, data?: Record<string, unknown>): void
}

/** A child as its parent wants it. */
export interface ChildStart {
  readonly step: string
  readonly child: ChildAsk
  readonly workflow: AnyWorkflow | string
  readonly input: Payload
  readonly options: ChildOptions<unknown>
}

/** The `ctx` of workflow code. A class, and all that few workflows use made on demand: there is one for every instance in memory. */
export class WorkflowContext extends Asker {
  readonly #source: ContextSource
  readonly #limits: Limits
  #random: SeededRandom | undefined

  constructor(source: ContextSource, duplicateSteps: "number" | "error", limits: Limits) {
    super(source.ask, undefined, duplicateSteps, limits)
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
    // A name that is not the user's is numbered where others may not be.
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
    this.#source.handlers.setQuery(name, handler)
  }

  setUpdateHandler(name: string, first: UpdateOptions | UpdateHandler, second?: UpdateHandler): void {
    const handler = typeof first === "function" ? first : second
    checkFunction(`the handler of update "${name}"`, handler)
    this.#source.refuseInHandler()
    this.#source.handlers.setUpdate(name, typeof first === "function" ? {} : first, handler as UpdateHandler)
    this.#source.newHandler()
  }

  patched(id: string): boolean {
    return this.#source.patched(id)
  }

  async continueAsNew(input?: unknown): Promise<never> {
    await this.#source.continueAsNew(input)
    return new Promise<never>(() => undefined)
  }

  startChild(workflow: AnyWorkflow | string, options: ChildOptions<unknown> = {}): Promise<Child> {
    return handled(this.#startChild(workflow, options))
  }

  runChild(workflow: AnyWorkflow | string, options: ChildOptions<unknown> = {}): Promise<unknown> {
    return handled(this.#startChild(workflow, options).then((child) => child.result()))
  }

  async #startChild(workflow: AnyWorkflow | string, options: ChildOptions<unknown>): Promise<Child> {
    const name = typeof workflow === "string" ? workflow : workflow.name
    const input = Payload.of(encodeValue(options.input, { what: `the input of child "${name}"`, bytesMax: this.#limits.payloadBytesMax }))
    const { onParentEnd = "cancel" } = options
    if (onParentEnd !== "cancel" && onParentEnd !== "terminate" && onParentEnd !== "abandon")
      throw new PerdureError("BAD_OPTION", `onParentEnd of child "${name}" is "${String(onParentEnd)}"; use "cancel", "terminate" or "abandon"`)
    if (options.id !== undefined) checkId(options.id, this.#limits.idLengthMax)
    const child: ChildAsk = { link: { instance: "", onParentEnd } }
    let step = ""
    await this.askFor(options.id ?? name, (id) => {
      step = id
      child.link = { instance: options.id ?? childId(this.#source.instance, id, this.#limits.idLengthMax), onParentEnd }
      return { kind: "do", id, fn: this.#source.startChild({ step, child, workflow, input, options }), options: ownRetry, child, isOwn: true }
    })
    const { instance } = child.link
    return new ContextChild(this.#source, step, instance, (what, fn) => this.#reach(`${instance} ${what}`, fn))
  }

  /** The name is not the user's, so it is numbered where others may not be; of one that is too long the end says more. */
  #reach(name: string, fn: DoAsk["fn"]): Promise<unknown> {
    const make = (id: string): DoAsk => ({ kind: "do", id, fn, options: ownRetry, isOwn: true })
    return this.askFor(name.slice(-this.#limits.stepNameLengthMax), make, "number")
  }

  /** What is drawn counts: the next draw is another. */
  get #seeded(): SeededRandom {
    this.#source.refuseInHandler()
    this.#random ??= new SeededRandom(this.#source.seed)
    return this.#random
  }
}

/** A child as workflow code sees it. What it does to the child is a step, named after the child. */
class ContextChild implements Child {
  readonly id: string
  readonly #source: ContextSource
  readonly #step: string
  readonly #reach: (what: string, fn: DoAsk["fn"]) => Promise<unknown>

  constructor(source: ContextSource, step: string, instance: string, reach: (what: string, fn: DoAsk["fn"]) => Promise<unknown>) {
    this.id = instance
    this.#source = source
    this.#step = step
    this.#reach = reach
  }

  result(): Promise<unknown> {
    // An error of the call itself rejects, too.
    return handled((async () => this.#source.childResult(this.#step))())
  }

  sendEvent(type: string, payload?: unknown): Promise<void> {
    return handled((async () => void (await this.#reach(type, this.#source.reachChild(this.id).sendEvent(type, payload))))())
  }

  cancel(reason?: string): Promise<void> {
    return handled((async () => void (await this.#reach("cancel", this.#source.reachChild(this.id).cancel(reason))))())
  }
}

/** If nobody looks at it, that is the code's business. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

/** What is wrong with the request itself stays wrong; a store that does not answer may answer later. */
const ownRetry = {
  retry: (error: unknown, attempt: number) => (PerdureError.is(error) && !isTransient(error) ? (false as const) : Math.min(100 * 2 ** attempt, 60_000)),
}

function isTransient(error: unknown): boolean {
  return isStoreTrouble(error) || PerdureError.is(error, "ENGINE_CLOSED")
}

function checkFunction(what: string, value: unknown): void {
  if (typeof value !== "function") throw new PerdureError("BAD_OPTION", `${what} is no function`)
}
