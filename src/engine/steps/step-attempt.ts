import { Asker, type AskRequest, type AskSink, type DoAsk } from "../../core/execution/ask.ts"
import type { Payload } from "../../core/values/value-codec.ts"
import { durationMs } from "../../core/time/duration.ts"
import type { Asks, StepContext } from "../../core/workflow/context.ts"
import type { OpenStep } from "../../core/journal/open-step.ts"
import { idempotencyKey } from "../../core/workflow/idempotency-key.ts"
import { isNested, stepName } from "../../core/workflow/step-id.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { Scope } from "../../ports/host.ts"
import { runInPlace } from "../tasks/in-place-activity.ts"
import { AttemptDeadline } from "./attempt-deadline.ts"
import type { RunnerInput } from "../runner/runner-input.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { StepSlot } from "./step-slots.ts"
import type { AfterCommit } from "../runner/turn-draft.ts"

/** What an attempt needs of the attempts of its instance. `StepAttempts` implements it. */
export interface AttemptOwner {
  readonly context: RunnerContext
  readonly identity: NewInstance
  readonly duplicateSteps: "number" | "error"
  /** A step, sleep or wait of the instance has ended. */
  readonly hasProgressed: boolean
  /** Answers an ask that the step's function makes inside its step. */
  nestedAsk(outer: StepAttempt, request: AskRequest): Promise<unknown>
  /** Runs the function in a transaction of the store, which also records the result. */
  transact(attempt: StepAttempt, fn: (access: unknown) => unknown): Promise<unknown>
  /** The entry that starts the attempt is durable, and so is everything before it: the function may run. */
  onDurable(attempt: StepAttempt): void
  /** The function has ended. Called once, unless the attempt is abandoned first. */
  onEnd(attempt: StepAttempt, ok: boolean, outcome: unknown): void
  /** Records the end, as an input of the runner's loop. */
  handleEnd(attempt: StepAttempt): void
}

export interface AttemptFailure {
  readonly error: unknown
  /** No retry can help, so the step fails with this error. */
  readonly isFinal: boolean
  /** What the retry policy has answered. Absent: it was not asked, or has not answered. */
  readonly retry?: RetryDecision
}

/** `delayMs` undefined: there is no further attempt. `error`: the policy itself failed, and the step fails with that error. */
export interface RetryDecision {
  readonly delayMs?: number | undefined
  readonly error?: unknown
}

/**
 * One execution of a step's function, with its context, its limits of time and its end. There is one for every step, so one object has four roles:
 *
 *   AfterCommit   the function may run when `step.started` is durable
 *   Scope         the async scope in which the function runs
 *   AskSink       receives the nested asks of the function
 *   RunnerInput   tells the runner's loop that the function has ended
 */
export class StepAttempt implements Scope, AfterCommit, RunnerInput, AskSink {
  readonly ask: DoAsk
  readonly number: number
  readonly open: OpenStep
  /** How the function ended. Neither `result` nor `failure` is set before its end. */
  result: Payload | undefined = undefined
  failure: AttemptFailure | undefined = undefined
  /** Another attempt would fail as well, whatever this one fails with. */
  isFutile = false
  /** Called when the attempt is over, for whatever reason. */
  onOver: (() => void) | undefined = undefined
  readonly #owner: AttemptOwner
  #isOver = false
  #deadline: AttemptDeadline | undefined
  /** Undefined: the worker does not limit concurrent attempts. */
  #slot: StepSlot | undefined
  #abort: AbortController | undefined
  #abortReason: { readonly reason: unknown } | undefined

  constructor(owner: AttemptOwner, ask: DoAsk, number: number, open: OpenStep) {
    this.#owner = owner
    this.ask = ask
    this.number = number
    this.open = open
  }

  get engine(): object {
    return this.#owner.context.engine
  }

  get instance(): string {
    return this.#owner.identity.id
  }

  get step(): string {
    return this.ask.id
  }

  get isSensitive(): boolean {
    return this.ask.options?.sensitive === true
  }

  afterCommit(): void {
    this.#owner.onDurable(this)
  }

  handle(): void {
    this.#owner.handleEnd(this)
  }

  /** Starts the function, as soon as a slot is free. */
  begin(): void {
    const { context, identity, hasProgressed } = this.#owner
    const isStart = this.number === 1 && !hasProgressed && !isNested(this.step)
    this.#slot = context.stepSlots?.newSlot(identity.flow?.priority ?? 0, isStart, this)
    if (this.#slot) this.#slot.begin(() => this.#start())
    else this.#start()
  }

  #start(): void {
    const { context } = this.#owner
    const { options } = this.ask
    try {
      if (options?.timeout !== undefined || options?.deadline !== undefined) {
        this.#deadline = new AttemptDeadline(context.timers, this.ask, (error) => {
          this.#end(false, error)
          this.abort(error)
        })
        this.#deadline.start(this.open.firstAt)
      }
      Promise.resolve(context.host.runIn(this, call)).then(
        (value) => this.#end(true, value),
        (error: unknown) => this.#end(false, error),
      )
    } catch (error) {
      this.#end(false, error)
    }
  }

  /** Tells the function to stop. Its end still counts. */
  abort(reason: unknown): void {
    this.#abortReason ??= { reason }
    // Abort listeners of the function run in the scope of the attempt, so that their unhandled rejections belong to it.
    if (this.#abort) this.#owner.context.host.runIn(this, () => this.#abort?.abort(reason))
  }

  /** The instance does not wait for the attempt any more: its end is dropped. */
  abandon(reason: unknown): void {
    this.close()
    this.abort(reason)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The attempt is over: its end is known, or does not matter. */
  close(): void {
    this.#isOver = true
    this.#deadline?.stop()
    this.#slot?.end()
    const { onOver } = this
    this.onOver = undefined
    onOver?.()
  }

  /** The function has made a nested ask, and waits for its answer. */
  onNestedAsk(): void {
    this.#slot?.onNestedAsk()
  }

  deliver(settle: () => void): void {
    if (this.#slot) this.#slot.deliver(settle)
    else settle()
  }

  /** A nested sleep or wait begins, which does not count against the timeout. */
  suspend(): void {
    this.#deadline?.suspend()
  }

  resume(): void {
    this.#deadline?.resume()
  }

  /** Created when it is first read: most steps never read it. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#abortReason) this.#abort.abort(this.#abortReason.reason)
    }
    return this.#abort.signal
  }

  get idempotencyKey(): string {
    const { context, identity } = this.#owner
    return idempotencyKey((text) => context.host.sha256(text), identity.incarnation, this.open.run, this.ask.id)
  }

  /** The function makes a nested ask. */
  submit(request: AskRequest): Promise<unknown> {
    return this.#owner.nestedAsk(this, request)
  }

  newAsker(): Asker {
    return new Asker(this, this.ask.id, this.#owner.duplicateSteps, this.#owner.context.settings.limits)
  }

  #end(ok: boolean, outcome: unknown): void {
    if (this.#isOver) return
    this.close()
    this.#owner.onEnd(this, ok, outcome)
  }

  call(): unknown {
    const { context, identity } = this.#owner
    const { interceptors } = context.settings
    const stepContext = new AttemptContext(this)
    const { id, options } = this.ask
    if (interceptors.length === 0) return this.#run(stepContext)
    const { id: instance, workflow, version } = identity
    const timeout = options?.timeout === undefined ? undefined : { timeoutMs: durationMs(options.timeout) }
    const step = { instance, workflow, version, id, name: stepName(id), attempt: this.number, ...timeout, context: stepContext }
    const pass = (index: number): unknown => {
      const interceptor = interceptors[index]
      return interceptor ? interceptor(step, () => pass(index + 1)) : this.#run(stepContext)
    }
    return pass(0)
  }

  #run(stepContext: AttemptContext): unknown {
    const { fn, transaction, activity } = this.ask
    if (activity) return runInPlace(this.#owner.context, this)
    return transaction ? this.#owner.transact(this, (access) => transaction(access as never, stepContext)) : fn(stepContext)
  }
}

const call = (attempt: StepAttempt) => attempt.call()

/** The context of a step's function. Its key and its signal are getters, because making them costs more than a small step. */
class AttemptContext implements StepContext {
  readonly attempt: number
  readonly #attempt: StepAttempt
  #asker: Asker | undefined

  constructor(attempt: StepAttempt) {
    this.attempt = attempt.number
    this.#attempt = attempt
  }

  get idempotencyKey(): string {
    return this.#attempt.idempotencyKey
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get step(): Asks {
    this.#asker ??= this.#attempt.newAsker()
    return this.#asker
  }
}
