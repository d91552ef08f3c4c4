import { Execution } from "../../core/execution/execution.ts"
import type { ExecutionEnvironment } from "../../core/execution/execution-environment.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isAsk, type Recorded, type Release } from "../../core/journal/journal.ts"
import { SmallQueue } from "../../core/collections/small-queue.ts"
import { isNested } from "../../core/workflow/step-id.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { Replay, type Disagreement } from "./replay.ts"

/**
 * Recorded entries that are not yet released to the code. While an instance is live, an entry is here for a moment. After a load the whole run is here:
 * see `Replay`. While an instance is paused, entries gather here.
 */
export class ReleaseQueue {
  execution: Execution | undefined
  readonly #state: InstanceState
  readonly #listener: ReleaseListener
  readonly #items = new SmallQueue<Recorded>()
  readonly #replay: Replay

  constructor(state: InstanceState, listener: ReleaseListener) {
    this.#state = state
    this.#listener = listener
    this.#replay = new Replay(listener)
  }

  push(recorded: Recorded): void {
    this.#items.push(recorded)
  }

  /** All entries that are in the queue now come from the store. */
  markReplay(): void {
    this.#replay.begin(this.#items.size)
  }

  /** The code has run, in this process or before the load. */
  get hasBegun(): boolean {
    return this.execution !== undefined || this.#items.items().some(({ entry }) => isAsk(entry))
  }

  /** The code has seen all recorded entries, and has made no further ask. */
  get isQuiet(): boolean {
    return this.#items.size === 0 && this.execution?.isQuiet !== false
  }

  /** The code has no open ask, has not ended, and has no handlers: nothing from the engine can continue it. */
  get hasNothingPending(): boolean {
    const { execution } = this
    return execution !== undefined && !execution.outcome && !execution.hasOpenAsks && !execution.onlyHandlersPending
  }

  /**
   * Passes entries until one settles a promise of the code, and releases that entry. `blocked`: the next entry is a recorded ask that the code has not
   * made. `drained`: no entry is left.
   */
  advance(): "released" | "blocked" | "drained" {
    for (let item = this.#items.peek(); item !== undefined; item = this.#items.peek()) {
      const step = this.#process(item)
      if (step === "blocked") return "blocked"
      this.#items.shift()
      this.#replay.passed()
      if (step === "noted") continue
      const execution = this.execution as Execution
      execution.replaying = this.#replay.isRunning
      this.#release(execution, item as Recorded<Release>)
      return "released"
    }
    if (this.execution) this.execution.replaying = false
    return "drained"
  }

  #process(item: Recorded): "noted" | "blocked" | "releases" {
    const { entry } = item
    // Nested entries are delivered by their id, outside the release order.
    switch (entry.type) {
      case "step.started":
      case "sleep.started":
      case "wait.started":
        return isNested(entry.id) || this.#replay.accept(this.execution as Execution, item as Recorded<typeof entry>) ? "noted" : "blocked"
      case "step.completed":
      case "sleep.completed":
      case "wait.completed":
      case "wait.timedOut":
        return isNested(entry.id) ? "noted" : "releases"
      case "step.failed":
        if (isNested(entry.id)) return "noted"
        if (entry.retryAt === undefined) return "releases"
        this.execution?.asks.retrying(entry.id)
        return "noted"
      case "run.started":
        this.execution = new Execution(this.#listener.executionEnvironment())
        this.#replay.prepare(this.execution, this.#items.items())
        return "releases"
      case "child.ended":
      case "event.handled":
      case "update.accepted":
      case "terminate.requested":
      case "cancel.requested":
        return "releases"
      case "ask.aborted":
        this.execution?.recordedAborted(entry.id)
        return "noted"
      case "recovered":
        this.execution?.recovered()
        return "noted"
      default:
        return "noted"
    }
  }

  #release(execution: Execution, item: Recorded<Release>): void {
    if (item.entry.type !== "wait.completed" && item.entry.type !== "event.handled") return execution.release(item)
    const { from } = item.entry
    if (from === undefined) return execution.release(item)
    execution.release(item, this.#state.received(from))
    this.#state.forgetReceived(from)
  }
}

/** Listens to a release queue: the runner of a resident instance, or a replay that only reads. */
export interface ReleaseListener {
  readonly workflow: AnyWorkflow
  executionEnvironment(): ExecutionEnvironment
  /** A recorded ask was matched with an ask of the code. */
  onAskMatched(): void
  /** The code has not made a recorded ask yet. It may still make the ask within the replay grace. */
  onAskMissing(describe: () => Disagreement): void
  /** The journal and the code disagree. */
  onMismatch(disagreement: Disagreement): void
}
