import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Timer } from "../../core/journal/open-operations.ts"
import { isNested } from "../../core/workflow/step-id.ts"
import { runDeadlineAt } from "../../core/journal/run-deadline.ts"
import type { StepAttempts } from "../steps/step-attempts.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/** How often an instance that awaits the wall clock reads it: while the instance is in memory, and after it has left memory. */
const wallCheckMs = 1_000
const absentCheckMs = 60_000

/** Fires the timers of one instance: sleeps, retries, timeouts of waits, the instance's own timeout, and the grace of its cancel. */
export class InstanceTimers {
  readonly #context: RunnerContext
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #attempts: StepAttempts
  readonly #runner: InstanceRunner

  constructor(context: RunnerContext, state: InstanceState, writer: TurnWriter, attempts: StepAttempts, runner: InstanceRunner) {
    this.#context = context
    this.#state = state
    this.#writer = writer
    this.#attempts = attempts
    this.#runner = runner
  }

  /** When the next timer is due. */
  get dueAt(): number | undefined {
    return this.#dueAt(this.#next)
  }

  /**
   * The due time that the row of the instance gets. A `sleepUntil` keeps the instant that the code named, because the worker that loads the instance
   * later may not be ahead of the wall clock. While an instant awaits the wall clock, the row has the time of the next look instead.
   */
  get storedDueAt(): number | undefined {
    return this.awaitsWallClock ? Math.min(this.dueAt ?? Infinity, this.#context.host.now() + absentCheckMs) : this.#dueAt(this.#state.nextTimer())
  }

  /** When the instance in memory looks at its timers again. Ahead of the wall clock it looks more often, because somebody may set the clock right. */
  get nextCheckAt(): number | undefined {
    const { dueAt } = this
    const { host } = this.#context
    if (dueAt === undefined || host.aheadMs() === 0) return dueAt
    return Math.min(dueAt, Math.max(this.#dueAt(this.#state.nextTimer()) ?? Infinity, host.now() + wallCheckMs))
  }

  /** The engine's time has passed the instant of a `sleepUntil`, but the wall clock, which somebody set back, does not show that instant yet. */
  get awaitsWallClock(): boolean {
    const { host } = this.#context
    if (host.aheadMs() === 0) return false
    const now = host.now()
    return (this.#state.nextTimer()?.dueAt ?? Infinity) <= now && (this.dueAt ?? 0) > now
  }

  get #next(): Timer | undefined {
    return this.#state.nextTimer(this.#context.host.aheadMs())
  }

  #dueAt(timer: Timer | undefined): number | undefined {
    const dueAt = Math.min(timer?.dueAt ?? Infinity, this.deadlineAt ?? Infinity)
    return dueAt === Infinity ? undefined : dueAt
  }

  /** When the instance ends, whatever its code does: at its timeout, or at the end of its cancel grace. */
  get deadlineAt(): number | undefined {
    const at = runDeadlineAt(this.#state, this.#context.settings.cancelGraceMs)
    return at === Infinity ? undefined : at
  }

  /** Fires only the deadline, for an instance that may not continue because it has no slots. False: the deadline is not due. */
  fireDeadline(): boolean {
    const { ended, isPaused } = this.#state
    if (ended || isPaused || (this.deadlineAt ?? Infinity) > this.#context.host.now()) return false
    this.#endAtDeadline()
    return true
  }

  /**
   * No timer may fire now, for one of three reasons. The draft has an earlier time than the timer, so the timer belongs to the next turn. Or the inbox is
   * being read, and an event in it goes before the timeout of a wait. Or a retry is due, and the tick has no attempts left.
   */
  get isBlocked(): boolean {
    if (this.#writer.isBehind(this.dueAt ?? 0)) return true
    const timer = this.#next
    if (timer?.kind === "wait") return this.#runner.isInboxDirty
    return timer?.kind === "retry" && timer.dueAt === this.dueAt && !isNested(timer.id) && this.#context.stepSlots?.isSpent === true
  }

  /** Fires one timer that is due. False: none is due. */
  fire(): boolean {
    const state = this.#state
    const { dueAt } = this
    if (state.ended || dueAt === undefined || dueAt > this.#context.host.now() || this.isBlocked) return false
    const timer = this.#next
    if (timer?.dueAt === dueAt) {
      if (timer.kind === "retry") this.#attempts.retry(timer.id)
      else if (timer.kind === "sleep") this.#runner.settle({ type: "sleep.completed", id: timer.id })
      else {
        // The turn is lost if the inbox has an event that this runner has not seen: the event was acknowledged, so it wins against the timeout.
        this.#writer.draft.inboxSeen = this.#runner.inboxSeen
        this.#runner.settle({ type: "wait.timedOut", id: timer.id })
      }
    } else this.#endAtDeadline()
    return true
  }

  #endAtDeadline(): void {
    if (this.#state.cancel) this.#runner.completion.forceCancel()
    else this.#runner.completion.cancel({ type: "cancel.requested", cause: "timeout", reason: "the instance's timeout is over" })
  }
}
