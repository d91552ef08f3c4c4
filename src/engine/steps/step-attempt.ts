import { Asker, type AskRequest, type AskSink, type DoAsk } from "../../core/execution/ask.ts"
import type { Payload } from "../../core/values/value-codec.ts"
import type { Asks, StepContext } from "../../core/workflow/context.ts"
import type { OpenStep } from "../../core/journal/open-operations.ts"
import { idempotencyKey } from "../../core/workflow/idempotency-key.ts"
import { isNested, stepName } from "../../core/workflow/step-id.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { Scope } from "../../ports/host.ts"
import { AttemptDeadline } from "./attempt-deadline.ts"
import type { RunnerInput } from "../runner/runner-input.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { StepSlot } from "./step-slots.ts"
import type { AfterCommit } from "../runner/turn-draft.ts"

/** What the attempts of one instance have in common. */
export interface AttemptOwner {
  readonly context: RunnerContext
  readonly identity: NewInstance
  readonly duplicateSteps: "number" | "error"
  /** A step, sleep or wait of the instance is over. */
  readonly hasProgressed: boolean
  /** Takes what the step's function asks for in turn. */
  nestedAsk(outer: StepAttempt, request: AskRequest): Promise<unknown>
  /** Runs the function in a transaction of the store, and records its result there. */
  transact(attempt: StepAttempt, fn: (access: unknown) => unknown): Promise<unknown>
  /** All that it may depend on is durable: it may start. */
  onDurable(attempt: StepAttempt): void
  /** Called once, unless the attempt is abandoned first. */
  onEnd(attempt: StepAttempt, ok: boolean, outcome: unknown): void
  /** Its end is taken in. */
  handleEnd(attempt: StepAttempt): void
}

export interface AttemptFailure {
  readonly error: unknown
  /** No retry can help. */
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
 * One execution of a step's function: its context, its clock, its end. It is what waits for the turn to be durable, the scope in
 * which the function runs, and what is taken in when it has ended, all in one: there is one for every step.
 */
export class StepAttempt implements Scope, AfterCommit, RunnerInput, AskSink {
  readonly ask: DoAsk
  readonly number: number
  readonly open: OpenStep
  /** What it ended with; neither: it has not. */
  result: Payload | undefined = undefined
  failure: AttemptFailure | undefined = undefined
  /** Whatever it fails with, another attempt would fail too. */
  isFutile = false
  /** Called when it is over, however that came. */
  onOver: (() => void) | undefined = undefined
  readonly #owner: AttemptOwner
  #isOver = false
  #deadline: AttemptDeadline | undefined
  /** Where the worker runs only so many at the same time. */
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

  /** Starts its function, as soon as there is a place for it. */
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

  /** Tells the function to stop; its end is still awaited. */
  abort(reason: unknown): void {
    this.#abortReason ??= { reason }
    // What the function does when it is told, and forgets, is its own as well.
    if (this.#abort) this.#owner.context.host.runIn(this, () => this.#abort?.abort(reason))
  }

  /** Nobody waits for it any more: whatever it ends with is dropped. */
  abandon(reason: unknown): void {
    this.close()
    this.abort(reason)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** How it ended is known, or does not matter. */
  close(): void {
    this.#isOver = true
    this.#deadline?.stop()
    this.#slot?.end()
    this.onOver?.()
  }

  /** Its function has asked for something inside its step, and goes on when that is there. */
  onNestedAsk(): void {
    this.#slot?.onNestedAsk()
  }

  deliver(settle: () => void): void {
    if (this.#slot) this.#slot.deliver(settle)
    else settle()
  }

  /** Nested sleeps and waits do not count against the timeout. */
  suspend(): void {
    this.#deadline?.suspend()
  }

  resume(): void {
    this.#deadline?.resume()
  }

  /** Made when first looked at: most steps never do. */
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

  /** What its function asks for inside its step. */
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
    const { id } = this.ask
    if (interceptors.length === 0) return this.#run(stepContext)
    const { id: instance, workflow, version } = identity
    const step = { instance, workflow, version, id, name: stepName(id), attempt: this.number, context: stepContext }
    const pass = (index: number): unknown => {
      const interceptor = interceptors[index]
      return interceptor ? interceptor(step, () => pass(index + 1)) : this.#run(stepContext)
    }
    return pass(0)
  }

  #run(stepContext: AttemptContext): unknown {
    const { fn, transaction } = this.ask
    return transaction ? this.#owner.transact(this, (access) => transaction(access as never, stepContext)) : fn(stepContext)
  }
}

const call = (attempt: StepAttempt) => attempt.call()

/** What the function is given. Getters, as the key and the signal cost more than a small step. */
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
