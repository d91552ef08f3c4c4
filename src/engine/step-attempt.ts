import { Asker, type AskSink, type DoAsk } from "../core/ask.ts"
import type { Asks, StepContext } from "../core/context.ts"
import { durationMs } from "../core/duration.ts"
import { PerdureError } from "../core/errors.ts"
import { sha256 } from "../core/sha256.ts"
import { stepName } from "../core/step-id.ts"
import type { Host, Scope } from "../ports/host.ts"
import type { StepInterceptor } from "./settings.ts"
import type { TimerHandle, Timers } from "./timers.ts"

export type AttemptOutcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

export interface AttemptSpec {
  readonly host: Host
  readonly timers: Timers
  readonly interceptors: readonly StepInterceptor[]
  readonly scope: Scope
  readonly ask: DoAsk
  readonly workflow: string
  readonly version: string
  readonly incarnation: string
  /** The run that asked for the step first. */
  readonly run: number
  readonly attempt: number
  /** From the first attempt's start on. */
  readonly firstAt: number
  /** Takes what the step's function asks for in turn. */
  readonly nested: (attempt: StepAttempt) => AskSink
  /** Called once, unless the attempt is abandoned first. */
  readonly onEnd: (attempt: StepAttempt, outcome: AttemptOutcome) => void
}

/** One execution of a step's function: its context, its clock, its end. */
export class StepAttempt {
  readonly #spec: AttemptSpec
  #ended = false
  #abort: AbortController | undefined
  #abortReason: { readonly reason: unknown } | undefined
  #timeout: TimerHandle | undefined
  #deadline: TimerHandle | undefined
  #timeLeftMs: number | undefined
  #suspensions = 0

  constructor(spec: AttemptSpec) {
    this.#spec = spec
  }

  get id(): string {
    return this.#spec.ask.id
  }

  get number(): number {
    return this.#spec.attempt
  }

  start(): void {
    const { host, timers, scope, ask, firstAt } = this.#spec
    const { timeout, deadline } = ask.options ?? {}
    try {
      if (timeout !== undefined) {
        this.#timeLeftMs = durationMs(timeout, `the timeout of step "${ask.id}"`)
        this.#runClock()
      }
      if (deadline !== undefined) {
        const at = firstAt + durationMs(deadline, `the deadline of step "${ask.id}"`)
        this.#deadline = timers.set(at, () => this.#expire("DEADLINE_EXCEEDED", `step "${ask.id}" passed its deadline`))
      }
      const result = host.runIn(scope, () => this.#call())
      if (result instanceof Promise) {
        result.then(
          (value: unknown) => this.#end({ ok: true, value }),
          (error: unknown) => this.#end({ ok: false, error }),
        )
      } else {
        Promise.resolve(result).then(
          (value) => this.#end({ ok: true, value }),
          (error: unknown) => this.#end({ ok: false, error }),
        )
      }
    } catch (error) {
      this.#end({ ok: false, error })
    }
  }

  /** Tells the function to stop; its end is still awaited. */
  abort(reason: unknown): void {
    this.#abortReason ??= { reason }
    this.#abort?.abort(reason)
  }

  /** Nobody waits for it any more: whatever it ends with is dropped. */
  abandon(reason: unknown): void {
    this.#close()
    this.abort(reason)
  }

  /** Nested sleeps and waits do not count against the timeout. */
  suspend(): void {
    if (++this.#suspensions > 1 || this.#timeout === undefined) return
    this.#timeLeftMs = Math.max(0, this.#timeout.at - this.#spec.host.now())
    this.#spec.timers.clear(this.#timeout)
    this.#timeout = undefined
  }

  unsuspend(): void {
    if (--this.#suspensions === 0 && !this.#ended) this.#runClock()
  }

  #runClock(): void {
    if (this.#timeLeftMs === undefined) return
    const { host, timers, ask } = this.#spec
    this.#timeout = timers.set(host.now() + this.#timeLeftMs, () =>
      this.#expire("STEP_TIMEOUT", `step "${ask.id}" took longer than its timeout of ${String(ask.options?.timeout)}`),
    )
  }

  #expire(code: "STEP_TIMEOUT" | "DEADLINE_EXCEEDED", message: string): void {
    if (this.#ended) return
    const error = new PerdureError(code, message, { details: { step: this.id, attempt: this.number } })
    this.#end({ ok: false, error })
    this.abort(error)
  }

  #end(outcome: AttemptOutcome): void {
    if (this.#ended) return
    this.#close()
    this.#spec.onEnd(this, outcome)
  }

  #close(): void {
    this.#ended = true
    this.#spec.timers.clear(this.#timeout)
    this.#spec.timers.clear(this.#deadline)
  }

  #call(): unknown {
    const { ask, interceptors, scope, workflow, version, attempt } = this.#spec
    const context = new AttemptContext(this, this.#spec)
    if (interceptors.length === 0) return ask.fn(context)
    const step = { instance: scope.instance, workflow, version, id: ask.id, name: stepName(ask.id), attempt, context }
    const call = (index: number): unknown => {
      const interceptor = interceptors[index]
      return interceptor ? interceptor(step, () => call(index + 1)) : ask.fn(context)
    }
    return call(0)
  }

  /** Made when first looked at: most steps never do. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#abortReason) this.#abort.abort(this.#abortReason.reason)
    }
    return this.#abort.signal
  }
}

/** What the function is given. Getters, as the key and the signal cost more than a small step. */
class AttemptContext implements StepContext {
  readonly attempt: number
  readonly #attempt: StepAttempt
  readonly #spec: AttemptSpec
  #asker: Asker | undefined

  constructor(attempt: StepAttempt, spec: AttemptSpec) {
    this.attempt = spec.attempt
    this.#attempt = attempt
    this.#spec = spec
  }

  get idempotencyKey(): string {
    return sha256(`${this.#spec.incarnation}\n${this.#spec.run}\n${this.#spec.ask.id}`)
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get step(): Asks {
    this.#asker ??= new Asker(this.#spec.nested(this.#attempt), this.#spec.ask.id, "number")
    return this.#asker as unknown as Asks
  }
}
