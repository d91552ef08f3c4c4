import type { RunnerContext } from "./runner-context.ts"
import { MovableTimer, type TimerHandle } from "../worker/timers.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/** What one instance in memory waits for by the clock. Both are rare: most go on by themselves. */
export class WakeUpTimer {
  readonly #context: RunnerContext
  readonly #runner: InstanceRunner
  #timer: MovableTimer | undefined
  #grace: TimerHandle | undefined

  constructor(context: RunnerContext, runner: InstanceRunner) {
    this.#context = context
    this.#runner = runner
  }

  /** When a timer of it is due; undefined: none is set. */
  setTo(at: number | undefined): void {
    if (at !== undefined) this.#timer ??= new MovableTimer(this.#context.timers, () => this.#runner.pumpNow())
    this.#timer?.setTo(at)
  }

  /** Patience with workflow code: runs `expired` when it had time to do something on its own, unless it does. One that is running goes on. */
  startGrace(expired: () => void): void {
    const { timers, settings } = this.#context
    if (this.#grace !== undefined) return
    this.#context.graces++
    this.#grace = timers.after(settings.replayGraceMs, () => {
      this.endGrace()
      expired()
    })
  }

  endGrace(): void {
    if (this.#grace === undefined) return
    this.#context.timers.clear(this.#grace)
    this.#grace = undefined
    this.#context.graces--
  }

  stop(): void {
    this.setTo(undefined)
    this.endGrace()
  }
}
