import type { Asks, Rollback, SleepOptions, StepContext, StepOptions, TransactionContext, WaitOptions } from "../workflow/context.ts"
import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"
import { instant } from "../time/instant.ts"
import type { ChildLink } from "../journal/journal.ts"
import type { ActivityAsk } from "./activity-ask.ts"
import { checkEventType, type Limits } from "../workflow/input-limits.ts"
import { checkRetry } from "../workflow/retry-policy.ts"
import { SmallMap } from "../collections/small-map.ts"
import type { ClientFunction, Sql, Synchronous, TransactionClient } from "../workflow/transaction-sql.ts"
import { checkStepName, stepId } from "../workflow/step-id.ts"

/** A request of workflow code, or of a step's function, to the engine. */
export type AskRequest = DoAsk | SleepAsk | WaitAsk

/** A step. A step and a transaction are the same kind, so a deploy may turn one into the other. */
export interface DoAsk {
  readonly kind: "do"
  readonly id: string
  readonly fn: (context: StepContext) => unknown
  readonly options: StepOptions | undefined
  /** Set if the step starts a child. */
  readonly child?: ChildAsk
  /** Set if the step is an activity. `fn` is not called: a process that has the activity runs it. */
  readonly activity?: ActivityAsk
  /** The function of a transaction, which runs instead of `fn`. */
  readonly transaction?: (access: never, context: TransactionContext) => unknown
  /** The engine made the step, not the user: its error is thrown without a `StepFailedError` around it. */
  readonly isEngineStep?: true
}

export interface ChildAsk {
  /** The child's id. It is replaced by the recorded one: a restarted run that keeps the step keeps the child of the earlier run. */
  link: ChildLink
}

export interface SleepAsk {
  readonly kind: "sleep"
  readonly id: string
  readonly signal: AbortSignal | undefined
  /** The wake time is fixed when the ask is recorded. */
  readonly wakeAt: (now: number) => number
  /** The code gave an instant and not a duration. */
  readonly until?: true
}

export interface WaitAsk {
  readonly kind: "wait"
  readonly id: string
  readonly signal: AbortSignal | undefined
  /** The type of the event. Undefined: the wait is for a condition. */
  readonly event: string | undefined
  readonly timeoutMs: number | undefined
  /** The value that a timeout resolves with. Undefined: a timeout throws. */
  readonly fallback: { readonly value: unknown } | undefined
  /** The predicate of a condition. */
  readonly until?: () => unknown
  /** The asker gets the event's type, time and id with its payload. */
  readonly wantsEnvelope?: true
}

/** Receives asks: the execution for workflow code, the engine for a step's function. */
export interface AskSink {
  submit(ask: AskRequest): Promise<unknown>
}

/** The methods by which code asks: each names and numbers the ask, checks its arguments, and submits it to the sink. */
export class Asker implements Asks<Record<string, never>> {
  readonly #sink: AskSink
  readonly #parent: string | undefined
  readonly #duplicates: "number" | "error"
  readonly #limits: Limits
  readonly #occurrences = new SmallMap<number>()

  constructor(sink: AskSink, parent: string | undefined, duplicates: "number" | "error", limits: Limits) {
    this.#sink = sink
    this.#limits = limits
    this.#parent = parent
    this.#duplicates = duplicates
  }

  do<T>(name: string, fn: (context: StepContext<Record<string, never>>) => T | Promise<T>, options?: StepOptions<NoInfer<T>>): Promise<T> {
    try {
      const id = this.#id(name)
      if (typeof fn !== "function") throw new PerdureError("BAD_OPTION", `step "${name}" has no function; write ctx.do("${name}", async () => …)`)
      if (options !== undefined) this.#checkOptions(name, options)
      return this.#sink.submit({ kind: "do", id, fn: fn as DoAsk["fn"], options: options as StepOptions | undefined }) as Promise<T>
    } catch (error) {
      return rejectedPromise(error)
    }
  }

  transaction<T>(name: string, fn: (sql: Sql, context: TransactionContext) => Synchronous<T>, options?: StepOptions<NoInfer<T>>): Promise<T>
  transaction<T, Client extends TransactionClient = never>(
    name: string,
    fn: ClientFunction<Client, TransactionContext, T>,
    options?: StepOptions<NoInfer<T>>,
  ): Promise<T>
  transaction(name: string, fn: (access: never, context: TransactionContext) => unknown, options?: StepOptions<never>): Promise<unknown> {
    return this.#ask(name, (id) => {
      if (typeof fn !== "function") throw new PerdureError("BAD_OPTION", `transaction "${name}" has no function; write ctx.transaction("${name}", (sql) => …)`)
      if (options !== undefined) this.#checkOptions(name, options)
      return { kind: "do", id, fn: onlyInStore, options: options as StepOptions | undefined, transaction: fn }
    })
  }

  /** Asks under a name that the subclass chooses. */
  protected askFor(name: string, make: (id: string) => AskRequest, duplicates = this.#duplicates): Promise<unknown> {
    return this.#ask(name, make, duplicates)
  }

  #checkOptions(name: string, options: StepOptions<never>): void {
    checkStepOptions(name, options)
    if (options.rollback === undefined) return
    if (this.#parent !== undefined)
      throw new PerdureError("BAD_OPTION", `step "${name}" is inside step "${this.#parent}" and has a rollback; give it to the outermost step`)
    checkRollback(name, options.rollback)
  }

  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void> {
    return this.#ask(name, (id) => {
      const ms = durationMs(duration, `sleep "${name}"`)
      return { kind: "sleep", id, signal: options?.signal, wakeAt: (now) => now + ms }
    }) as Promise<void>
  }

  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void> {
    return this.#ask(name, (id) => {
      const at = instant(time, `sleepUntil "${name}"`, "BAD_DURATION")
      return { kind: "sleep", id, signal: options?.signal, wakeAt: () => at, until: true }
    }) as Promise<void>
  }

  waitForEvent(name: string, options: WaitOptions = {}): Promise<never> {
    return this.#ask(name, (id) => this.#waitAsk(name, id, options)) as Promise<never>
  }

  receiveEvent(name: string, options: Omit<WaitOptions, "default"> = {}): Promise<never> {
    return this.#ask(name, (id) => ({ ...this.#waitAsk(name, id, options), fallback: undefined, wantsEnvelope: true })) as Promise<never>
  }

  #waitAsk(name: string, id: string, options: WaitOptions): WaitAsk {
    const event = options.type ?? name
    checkEventType(event, this.#limits.eventTypeLengthMax)
    const timeoutMs = options.timeout === undefined ? undefined : durationMs(options.timeout, `the timeout of wait "${name}"`)
    const fallback = "default" in options ? { value: options.default } : undefined
    return { kind: "wait", id, signal: options.signal, event, timeoutMs, fallback }
  }

  /** A wrong argument rejects the promise, like every other failure of an ask. */
  #ask(name: string, make: (id: string) => AskRequest, duplicates = this.#duplicates): Promise<unknown> {
    try {
      return this.#sink.submit(make(this.#id(name, duplicates)))
    } catch (error) {
      return rejectedPromise(error)
    }
  }

  #id(name: string, duplicates = this.#duplicates): string {
    checkStepName(name, this.#limits.stepNameLengthMax)
    const occurrence = (this.#occurrences.get(name) ?? 0) + 1
    this.#occurrences.set(name, occurrence)
    if (occurrence > 1 && duplicates === "error") {
      throw new PerdureError(
        "DUPLICATE_STEP",
        `step "${name}" is asked for twice and the workflow says duplicateSteps: "error"; give each step a name of its own`,
        { details: { step: name } },
      )
    }
    return stepId(this.#parent, name, occurrence)
  }
}

/** A rejected promise that counts as handled, like every promise that the engine returns to workflow code. */
function rejectedPromise(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}

function onlyInStore(): never {
  throw new Error("the function of a transaction is called by the store")
}

/** Checks options at the call, where the code can catch the error. A wrong option in an attempt would only fail again at each retry. */
function checkStepOptions(name: string, { retry, timeout, deadline, sensitive }: Omit<StepOptions, "rollback">): void {
  if (sensitive !== undefined && typeof sensitive !== "boolean")
    throw new PerdureError("BAD_OPTION", `sensitive of step "${name}" is of type ${typeof sensitive}; give true or false`)
  if (timeout !== undefined) durationMs(timeout, `the timeout of step "${name}"`)
  if (deadline !== undefined) durationMs(deadline, `the deadline of step "${name}"`)
  if (retry !== undefined) checkRetry(retry)
}

function checkRollback(name: string, rollback: Rollback<never>): void {
  if (typeof rollback === "function") return
  if (typeof rollback !== "object" || typeof rollback.run !== "function")
    throw new PerdureError("BAD_OPTION", `the rollback of step "${name}" is not a function; write rollback: (result) => … or rollback: { run, retry }`)
  checkStepOptions(name, rollback)
}
