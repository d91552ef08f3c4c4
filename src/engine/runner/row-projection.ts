import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { InstanceRow, NewInstance, RowState } from "../../ports/journal-store.ts"
import { deadlineOf, releasesSlotsAtRest } from "../flow-control/flow-traits.ts"
import type { StepAttempts } from "../steps/step-attempts.ts"
import type { EndingHooks } from "./ending-hooks.ts"
import type { InstanceTimers } from "./instance-timers.ts"
import type { ReleaseQueue } from "./release-queue.ts"
import type { RunCompletion } from "./run-completion.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"

/**
 * Computes what the store's row of one resident instance should say: its status, its due time and its owner. A row without an owner means that the
 * instance leaves memory with this turn: it ended, stalled, paused, sleeps for long, waits for its start or has no slots. Any worker claims it when it is
 * due, or when it gets a message.
 */
export class RowProjection {
  readonly #context: RunnerContext
  readonly #options: RowProjectionOptions
  /** The instance has limits, and was claimed without slots: it takes in controls, and then queues for its slots again. */
  hasNoSlots = false

  constructor(context: RunnerContext, options: RowProjectionOptions) {
    this.#context = context
    this.#options = options
  }

  restore({ slots }: InstanceRow): void {
    this.hasNoSlots = slots !== undefined && slots !== "taken"
  }

  /** The start is in the future. An instance that has asked for something has begun, even if the clock was later set back before its start. */
  get isDelayed(): boolean {
    const { state, releaseQueue } = this.#options
    return releaseQueue.execution === undefined && !state.cancel && state.asked === 0 && (state.startAt ?? 0) > this.#context.host.now()
  }

  /** The runner continues at once: an input or an ask is not recorded yet, or an entry is not released yet. */
  get hasUnprocessed(): boolean {
    const { state, completion } = this.#options
    return !state.ended && !completion.hasContinued && this.#hasUnreleased
  }

  get #hasUnreleased(): boolean {
    const { releaseQueue, inputs } = this.#options
    return inputs.size > 0 || !releaseQueue.isQuiet
  }

  /** `previous`: the last row. It is returned itself if it still is right. */
  row(previous?: RowState): RowState {
    const { state, completion } = this.#options
    const { host, workerName } = this.#context
    const run = { run: state.run, runPosition: state.runPosition }
    if (completion.hasContinued) return { ...run, status: "running", dueAt: host.now() }
    // Between two steps, which is most turns, nothing changes but the journal.
    if (previous?.owner === workerName && previous.status === "running" && previous.phase === undefined && state.isPlainlyRunning) return previous
    if (state.ended || state.stalled) return { ...run, ...this.#endedRow() }
    const phase = state.phase ? { phase: state.phase } : undefined
    if (state.isPaused) return state.isWorking ? { ...run, status: "running", owner: workerName, ...phase } : { ...run, status: "paused" }
    return { ...run, ...this.#openRow(), ...(this.isDelayed ? undefined : phase) }
  }

  /** The row of an instance that ended or stalled. It has an owner only while a hook is to be called. */
  #endedRow(): Omit<RowState, "run" | "runPosition"> {
    const { state, hooks } = this.#options
    const row = { status: state.status, ...(state.ended ? { endPosition: state.ended.position } : undefined) }
    return hooks?.hasPending === true ? { ...row, owner: this.#context.workerName, dueAt: state.hook.retryAt ?? state.at } : row
  }

  #openRow(): Omit<RowState, "run" | "runPosition"> {
    const { state, identity, timers, releaseQueue, attempts } = this.#options
    const { host, workerName, settings } = this.#context
    const deadline = deadlineOf(identity.flow, timers.deadlineAt)
    if (this.isDelayed) return { status: "queued", dueAt: state.startAt ?? state.startedAt, ...deadline }
    if (this.hasNoSlots) return { status: releaseQueue.hasBegun ? state.status : "queued", dueAt: this.#dueWithoutSlots(), ...deadline }
    const status = this.#hasUnreleased ? "running" : state.status
    if (status === "running") return { status, owner: workerName }
    const { storedDueAt } = timers
    const nextCheckAt = timers.nextCheckAt ?? storedDueAt
    const due = storedDueAt === undefined ? undefined : { dueAt: storedDueAt }
    const sleepsLong = status === "sleeping" && nextCheckAt !== undefined && nextCheckAt > host.now() + settings.residentSleepMsMax
    // An instance with limits leaves memory whenever it comes to rest, so that others can have its slots.
    const leaves = attempts.count === 0 && (sleepsLong || releasesSlotsAtRest(identity.flow))
    return leaves ? { status, ...due, ...deadline } : { status, ...due, owner: workerName }
  }

  /** An instance without slots keeps its due time. After a resume or a cancel it is due at once. */
  #dueWithoutSlots(): number {
    const { state, writer } = this.#options
    const { status, phase, dueAt }: Partial<RowState> = writer.row ?? {}
    const isMoved = status === "paused" || status === "stalled" || phase !== state.phase
    return isMoved ? state.at : (dueAt ?? state.startedAt)
  }
}

export function isSameRow(a: RowState, b: RowState): boolean {
  const isSameTime = a.dueAt === b.dueAt && a.deadlineAt === b.deadlineAt
  return a.status === b.status && a.phase === b.phase && isSameTime && a.owner === b.owner && a.run === b.run && a.runPosition === b.runPosition
}

export interface RowProjectionOptions {
  readonly identity: NewInstance
  readonly state: InstanceState
  readonly completion: RunCompletion
  readonly timers: InstanceTimers
  readonly hooks: EndingHooks | undefined
  readonly releaseQueue: ReleaseQueue
  readonly attempts: StepAttempts
  readonly writer: TurnWriter
  /** Inputs that are not recorded yet. */
  readonly inputs: { readonly size: number }
}
