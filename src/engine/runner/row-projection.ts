import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { InstanceRow, NewInstance } from "../../ports/journal-store.ts"
import type { StepAttempts } from "../steps/step-attempts.ts"
import type { EndingHooks } from "./ending-hooks.ts"
import type { InstanceTimers } from "./instance-timers.ts"
import type { ReleaseQueue } from "./release-queue.ts"
import { projectRow, type Row } from "./row-state.ts"
import type { RunCompletion } from "./run-completion.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"

/** What the store's row of one resident instance should say, and what it says about whether its code may run. */
export class RowProjection {
  readonly #context: RunnerContext
  readonly #options: RowProjectionOptions
  /** It has limits, and was claimed without slots: it takes in controls, and goes back into line. */
  hasNoSlots = false

  constructor(context: RunnerContext, options: RowProjectionOptions) {
    this.#context = context
    this.#options = options
  }

  restore({ slots }: InstanceRow): void {
    this.hasNoSlots = slots !== undefined && slots !== "taken"
  }

  /** Its start is in the future. What has asked for something has begun, also where the clock that said so was ahead of today's. */
  get isDelayed(): boolean {
    const { state, releaseQueue } = this.#options
    return releaseQueue.execution === undefined && !state.cancel && state.asked === 0 && (state.startAt ?? 0) > this.#context.host.now()
  }

  /** Something that came, or that its code asked for, is not recorded, or its code has not seen what is: it goes on at once. */
  get hasUnprocessed(): boolean {
    const { state, completion, releaseQueue, inputs } = this.#options
    return !state.ended && !completion.hasContinued && (inputs.size > 0 || !releaseQueue.isQuiet)
  }

  /** Given what it says, the same object if that is right. */
  row(previous?: Row): Row {
    const { state, identity, completion, timers, hooks, releaseQueue, attempts, writer, inputs } = this.#options
    const { host, worker, settings } = this.#context
    if (completion.hasContinued) return { status: "running", run: state.run, runPosition: state.runPosition, dueAt: host.now() }
    // Between two steps, which is most turns, nothing changes but the journal.
    if (previous?.owner === worker && previous.status === "running" && previous.phase === undefined && state.isPlainlyRunning) return previous
    return projectRow(state, {
      now: host.now(),
      worker,
      dueAt: timers.storedDueAt,
      nextCheckAt: timers.nextCheckAt,
      residentSleepMsMax: settings.residentSleepMsMax,
      isHookPending: hooks?.hasPending === true,
      isDelayed: this.isDelayed,
      hasUnreleased: !releaseQueue.isQuiet || inputs.size > 0,
      isBusy: attempts.count > 0,
      flow: identity.flow,
      deadlineAt: timers.deadlineAt,
      withoutSlots: this.hasNoSlots ? { begun: releaseQueue.hasBegun, before: writer.row } : undefined,
    })
  }
}

/** What the row is made from. */
interface RowProjectionOptions {
  readonly identity: NewInstance
  readonly state: InstanceState
  readonly completion: RunCompletion
  readonly timers: InstanceTimers
  readonly hooks: EndingHooks | undefined
  readonly releaseQueue: ReleaseQueue
  readonly attempts: StepAttempts
  readonly writer: TurnWriter
  /** What came and is not taken in. */
  readonly inputs: { readonly size: number }
}
