import type { Asks, Rollback, SleepOptions, StepContext, StepOptions, TransactionContext, WaitOptions } from "../workflow/context.ts"
import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"
import { instant } from "../time/instant.ts"
import type { ChildLink } from "../journal/journal.ts"
import { checkEventType, type Limits } from "../workflow/input-limits.ts"
import { checkRetry } from "../workflow/retry-policy.ts"
import { SmallMap } from "../collections/small-map.ts"
import type { ClientFunction, Sql, Synchronous, TransactionClient } from "../workflow/transaction-sql.ts"
import { checkStepName, stepId } from "../workflow/step-id.ts"

/** One thing that workflow code, or a step's function, asks the engine for. */
export type AskRequest = DoAsk | SleepAsk | WaitAsk

/** A step. Whether its function runs in a transaction of the store is no part of what it is: the one may become the other. */
export interface DoAsk {
  readonly kind: "do"
  readonly id: string
  readonly fn: (context: StepContext) => unknown
  readonly options: StepOptions | undefined
  /** It starts a child. */
  readonly child?: ChildAsk
  /** Runs in the place of `fn`. */
  readonly transaction?: (access: never, context: TransactionContext) => unknown
  /** A step of the engine's own making: what hinders it is thrown as it is. */
  readonly isOwn?: true
}

export interface ChildAsk {
  /** As the journal has it, once it does: a run that keeps the step keeps the child of the run that asked for it. */
  link: ChildLink
}

export interface SleepAsk {
  readonly kind: "sleep"
  readonly id: string
  readonly signal: AbortSignal | undefined
  /** The wake time is fixed when the ask is recorded. */
  readonly wakeAt: (now: number) => number
  /** The code named the instant, and no duration. */
  readonly until?: true
}

export interface WaitAsk {
  readonly kind: "wait"
  readonly id: string
  readonly signal: AbortSignal | undefined
  /** Undefined: the wait is for a condition. */
  readonly event: string | undefined
  readonly timeoutMs: number | undefined
  /** What a timeout gives; without it a timeout throws. */
  readonly fallback: { readonly value: unknown } | undefined
  /** Of a condition: whether it holds. */
  readonly until?: () => unknown
  /** The asker gets the event's type, time and id with its payload. */
  readonly wantsEnvelope?: true
}

/** Where asks go: the execution for workflow code, the engine for a step's function. */
export interface AskSink {
  submit(ask: AskRequest): Promise<unknown>
}

/** The methods of `Asks`: names and numbers each ask, checks its arguments, hands it on. */
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
      return rejected(error)
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

  /** A step of the engine's own making. */
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

  /** A wrong argument rejects, like everything else that can go wrong with a step. */
  #ask(name: string, make: (id: string) => AskRequest, duplicates = this.#duplicates): Promise<unknown> {
    try {
      return this.#sink.submit(make(this.#id(name, duplicates)))
    } catch (error) {
      return rejected(error)
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

/** Counts as handled, like every promise that the engine hands out. */
function rejected(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}

function onlyInStore(): never {
  throw new Error("the function of a transaction is called by the store")
}

/** Here, where the code can still catch it: an attempt could only fail again and again. */
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
    throw new PerdureError("BAD_OPTION", `the rollback of step "${name}" is no function; write rollback: (result) => … or rollback: { run, retry }`)
  checkStepOptions(name, rollback)
}
