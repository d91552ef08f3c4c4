import type { RunnerContext } from "./runner-context.ts"
import { MovableTimer, type TimerHandle } from "../worker/timers.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/** The timers of one resident instance: its wake-up, and the grace that its code has. Both are created when needed, because most instances need neither. */
export class WakeUpTimer {
  readonly #context: RunnerContext
  readonly #runner: InstanceRunner
  #timer: MovableTimer | undefined
  #grace: TimerHandle | undefined

  constructor(context: RunnerContext, runner: InstanceRunner) {
    this.#context = context
    this.#runner = runner
  }

  /** Wakes the instance at this time; undefined: not at all. */
  setTo(at: number | undefined): void {
    if (at !== undefined) this.#timer ??= new MovableTimer(this.#context.timers, () => this.#runner.pumpNow())
    this.#timer?.setTo(at)
  }

  /** Gives workflow code the replay grace to make its next ask, and then calls `expired`. A grace that runs already continues. */
  startGrace(expired: () => void): void {
    const { timers, settings } = this.#context
    if (this.#grace !== undefined) return
    this.#context.openGraces++
    this.#grace = timers.after(settings.replayGraceMs, () => {
      this.endGrace()
      expired()
    })
  }

  endGrace(): void {
    if (this.#grace === undefined) return
    this.#context.timers.clear(this.#grace)
    this.#grace = undefined
    this.#context.openGraces--
  }

  stop(): void {
    this.setTo(undefined)
    this.endGrace()
  }
}
