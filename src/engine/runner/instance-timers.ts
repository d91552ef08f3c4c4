import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Timer } from "../../core/journal/open-operations.ts"
import { isNested } from "../../core/workflow/step-id.ts"
import { limitAt } from "../../core/journal/run-deadline.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/** How often an instance that awaits the wall clock looks at it: an instance in memory, and one that has left memory. */
const wallCheckMs = 1_000
const absentCheckMs = 60_000

/** What time does to one instance: its sleeps, retries and timeouts of waits, its own timeout, and the grace of its cancel. */
export class InstanceTimers {
  readonly #context: RunnerContext
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #runner: InstanceRunner

  constructor(context: RunnerContext, state: InstanceState, writer: TurnWriter, runner: InstanceRunner) {
    this.#context = context
    this.#state = state
    this.#writer = writer
    this.#runner = runner
  }

  /** When the next of them is due. */
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

  /** When it ends whatever it does: by its timeout, or at the end of its cancel's grace. */
  get deadlineAt(): number | undefined {
    const at = limitAt(this.#state, this.#context.settings.cancelGraceMs)
    return at === Infinity ? undefined : at
  }

  /** Lets its deadline have its effect, and nothing else: it may not go on. False: it is not due. */
  fireDeadline(): boolean {
    const { ended, isHeldBack } = this.#state
    if (ended || isHeldBack || (this.deadlineAt ?? Infinity) > this.#context.host.now()) return false
    this.#endAtDeadline()
    return true
  }

  /**
   * A turn of an earlier time gathers; or the inbox is being read, and an event that is there already comes before a timeout; or a retry is
   * due, and no more attempts may begin here.
   */
  get isBlocked(): boolean {
    if (this.#writer.isBehind(this.dueAt ?? 0)) return true
    const timer = this.#next
    if (timer?.kind === "wait") return this.#runner.isInboxDirty
    return timer?.kind === "retry" && timer.dueAt === this.dueAt && !isNested(timer.id) && this.#context.stepSlots?.isSpent === true
  }

  /** Lets one that is due have its effect. False: none is. */
  fire(): boolean {
    const state = this.#state
    const { dueAt } = this
    if (state.ended || dueAt === undefined || dueAt > this.#context.host.now() || this.isBlocked) return false
    const timer = this.#next
    if (timer?.dueAt === dueAt) {
      if (timer.kind === "retry") this.#runner.retry(timer.id)
      else if (timer.kind === "sleep") this.#runner.settle({ type: "sleep.completed", id: timer.id })
      else {
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
