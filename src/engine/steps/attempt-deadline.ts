import type { DoAsk } from "../../core/execution/ask.ts"
import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { TimerHandle, Timers } from "../worker/timers.ts"

/**
 * Limits how long an attempt may take. There are two limits: the timeout of the attempt, which stands still during nested sleeps and waits, and the deadline
 * of the step, which counts over all attempts and never stands still.
 */
export class AttemptDeadline {
  readonly #timers: Timers
  readonly #expire: (error: PerdureError) => void
  readonly #ask: DoAsk
  #timeout: TimerHandle | undefined
  #deadline: TimerHandle | undefined
  #timeLeftMs: number | undefined
  #suspensions = 0
  #isStopped = false

  constructor(timers: Timers, ask: DoAsk, expire: (error: PerdureError) => void) {
    this.#timers = timers
    this.#ask = ask
    this.#expire = expire
  }

  /** `firstAt`: the time of the step's first attempt. */
  start(firstAt: number): void {
    const { id, options } = this.#ask
    if (options?.timeout !== undefined) {
      this.#timeLeftMs = durationMs(options.timeout, `the timeout of step "${id}"`)
      this.#startTimeout()
    }
    if (options?.deadline === undefined) return
    const at = firstAt + durationMs(options.deadline, `the deadline of step "${id}"`)
    const error = () => new PerdureError("DEADLINE_EXCEEDED", `step "${id}" passed its deadline of ${String(options.deadline)}`, { details: { step: id } })
    this.#deadline = this.#timers.set(at, () => this.#expire(error()))
  }

  suspend(): void {
    if (++this.#suspensions > 1 || this.#timeout === undefined) return
    this.#timeLeftMs = Math.max(0, this.#timers.remainingMs(this.#timeout))
    this.#timers.clear(this.#timeout)
    this.#timeout = undefined
  }

  resume(): void {
    if (--this.#suspensions === 0 && !this.#isStopped) this.#startTimeout()
  }

  stop(): void {
    this.#isStopped = true
    this.#timers.clear(this.#timeout)
    this.#timers.clear(this.#deadline)
  }

  #startTimeout(): void {
    if (this.#timeLeftMs === undefined) return
    const { id, options } = this.#ask
    const timeout = options?.timeout ?? 0
    const details = { step: id, timeoutMs: durationMs(timeout) }
    const error = () => new PerdureError("STEP_TIMEOUT", `step "${id}" took longer than its timeout of ${timeout}`, { details })
    this.#timeout = this.#timers.after(this.#timeLeftMs, () => this.#expire(error()))
  }
}
