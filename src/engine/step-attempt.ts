import { Asker, type AskRequest, type DoAsk } from "../core/ask.ts"
import type { Asks, StepContext } from "../core/context.ts"
import type { OpenStep } from "../core/instance-state.ts"
import { sha256 } from "../core/sha256.ts"
import { stepName } from "../core/step-id.ts"
import type { NewInstance } from "../ports/journal-store.ts"
import { AttemptClock } from "./attempt-clock.ts"
import type { Runtime } from "./runtime.ts"

/** What the attempts of one instance have in common. */
export interface AttemptOwner {
  readonly runtime: Runtime
  readonly identity: NewInstance
  readonly duplicateSteps: "number" | "error"
  /** Takes what the step's function asks for in turn. */
  nestedAsk(outer: StepAttempt, request: AskRequest): Promise<unknown>
  /** Called once, unless the attempt is abandoned first. */
  onEnd(attempt: StepAttempt, ok: boolean, outcome: unknown): void
}

/** One execution of a step's function: its context, its clock, its end. */
export class StepAttempt {
  readonly ask: DoAsk
  readonly number: number
  readonly #owner: AttemptOwner
  readonly #step: OpenStep
  #ended = false
  #clock: AttemptClock | undefined
  #abort: AbortController | undefined
  #abortReason: { readonly reason: unknown } | undefined

  constructor(owner: AttemptOwner, ask: DoAsk, number: number, step: OpenStep) {
    this.#owner = owner
    this.ask = ask
    this.number = number
    this.#step = step
  }

  start(): void {
    const { runtime } = this.#owner
    const { options } = this.ask
    try {
      if (options?.timeout !== undefined || options?.deadline !== undefined) {
        this.#clock = new AttemptClock(runtime.host, runtime.timers, this.ask, (error) => {
          this.#end(false, error)
          this.abort(error)
        })
        this.#clock.start(this.#step.firstAt)
      }
      const result = this.#inScope(() => this.#call())
      const promise = result instanceof Promise ? (result as Promise<unknown>) : Promise.resolve(result)
      promise.then(
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
    if (this.#abort) this.#inScope(() => this.#abort?.abort(reason))
  }

  /** Nobody waits for it any more: whatever it ends with is dropped. */
  abandon(reason: unknown): void {
    this.#close()
    this.abort(reason)
  }

  /** Nested sleeps and waits do not count against the timeout. */
  suspend(): void {
    this.#clock?.suspend()
  }

  goOn(): void {
    this.#clock?.goOn()
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
    return sha256(`${this.#owner.identity.incarnation}\n${this.#step.run}\n${this.ask.id}`)
  }

  newAsker(): Asker {
    return new Asker((request) => this.#owner.nestedAsk(this, request), this.ask.id, this.#owner.duplicateSteps, this.#owner.runtime.settings.limits)
  }

  #end(ok: boolean, outcome: unknown): void {
    if (this.#ended) return
    this.#close()
    this.#owner.onEnd(this, ok, outcome)
  }

  #close(): void {
    this.#ended = true
    this.#clock?.stop()
  }

  #inScope<T>(run: () => T): T {
    const { runtime, identity } = this.#owner
    return runtime.host.runIn({ engine: runtime.engine, instance: identity.id, step: this.ask.id }, run)
  }

  #call(): unknown {
    const { runtime, identity } = this.#owner
    const { interceptors } = runtime.settings
    const context = new AttemptContext(this)
    const { fn, id } = this.ask
    if (interceptors.length === 0) return fn(context)
    const { id: instance, workflow, version } = identity
    const step = { instance, workflow, version, id, name: stepName(id), attempt: this.number, context }
    const call = (index: number): unknown => {
      const interceptor = interceptors[index]
      return interceptor ? interceptor(step, () => call(index + 1)) : fn(context)
    }
    return call(0)
  }
}

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
