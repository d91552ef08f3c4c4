import type { Host } from "../ports/host.ts"
import type { TimerHandle, Timers } from "./timers.ts"

/** Patience with workflow code: time for it to do something on its own, before the instance counts as stalled. */
export class Grace {
  readonly #host: Host
  readonly #timers: Timers
  readonly #graceMs: number
  #timer: TimerHandle | undefined

  constructor(host: Host, timers: Timers, graceMs: number) {
    this.#host = host
    this.#timers = timers
    this.#graceMs = graceMs
  }

  /** Runs `expired` when the grace is over, unless it is cleared; one that is running goes on. */
  await(expired: () => void): void {
    this.#timer ??= this.#timers.set(this.#host.now() + this.#graceMs, () => {
      this.#timer = undefined
      expired()
    })
  }

  clear(): void {
    if (this.#timer === undefined) return
    this.#timers.clear(this.#timer)
    this.#timer = undefined
  }
}
