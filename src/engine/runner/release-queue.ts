import { failureText } from "../../core/values/error-text.ts"
import type { Outcome } from "../../core/execution/run-outcome.ts"
import { Execution } from "../../core/execution/execution.ts"
import type { ExecutionSpec } from "../../core/execution/execution-environment.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isAsk, type EntryOf, type Recorded, type Release } from "../../core/journal/journal.ts"
import { describeAsk, describeWait } from "../../core/execution/open-asks.ts"
import { SmallQueue } from "../../core/collections/small-queue.ts"
import { isNested } from "../../core/workflow/step-id.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"

/**
 * What is recorded and not yet released to the code. Live it holds an entry for a moment; after a load it holds the whole
 * journal; while an instance is paused it gathers. Recorded asks are matched with what the code asks for; where the two
 * disagree, the instance stalls.
 */
export class ReleaseQueue {
  execution: Execution | undefined
  readonly #state: InstanceState
  readonly #listener: ReleaseListener
  readonly #items = new SmallQueue<Recorded>()
  /** How many of the items come from the store. */
  #replayLeft = 0

  constructor(state: InstanceState, listener: ReleaseListener) {
    this.#state = state
    this.#listener = listener
  }

  push(recorded: Recorded): void {
    this.#items.push(recorded)
  }

  /** All that is in the queue now comes from the store. */
  markReplay(): void {
    this.#replayLeft = this.#items.size
  }

  /** Whether the code has run, now or before a load. */
  get begun(): boolean {
    return this.execution !== undefined || this.#items.items().some(({ entry }) => isAsk(entry))
  }

  /** The code has seen all that is recorded, and asks for nothing more. */
  get isQuiet(): boolean {
    return this.#items.size === 0 && this.execution?.isQuiet !== false
  }

  /** The code has asked for nothing, has not ended, and has no handlers that could make it go on. */
  get isAtALoss(): boolean {
    const { execution } = this
    return execution !== undefined && !execution.outcome && !execution.hasOpenAsks && !execution.onlyHandlersPending
  }

  /** Goes on to the next entry that settles something, and releases it. `blocked`: a recorded ask does not come. */
  advance(): "released" | "blocked" | "drained" {
    for (let item = this.#items.peek(); item !== undefined; item = this.#items.peek()) {
      const step = this.#take(item)
      if (step === "blocked") return "blocked"
      this.#items.shift()
      if (this.#replayLeft > 0) this.#replayLeft--
      if (step === "noted") continue
      const execution = this.execution as Execution
      execution.replaying = this.#replayLeft > 0
      this.#release(execution, item as Recorded<Release>)
      return "released"
    }
    if (this.execution) this.execution.replaying = false
    return "drained"
  }

  #take(item: Recorded): "noted" | "blocked" | "releases" {
    const { entry } = item
    // Nested entries are answered by id, outside the release order.
    switch (entry.type) {
      case "step.started":
      case "sleep.started":
      case "wait.started":
        return isNested(entry.id) || this.#accept(item as Recorded<typeof entry>) ? "noted" : "blocked"
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
        this.execution = this.#newExecution()
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

  /** What the rest of the journal says decides which patches the code takes. */
  #newExecution(): Execution {
    const execution = new Execution(this.#listener.executionSpec())
    if (this.#replayLeft === 0) return execution
    for (const { entry } of this.#items.items()) {
      if (entry.type === "patched") execution.recordedPatch(entry.patch)
      else if (entry.type === "annotated") execution.annotations.recorded++
      else if (isAsk(entry) && !isNested(entry.id)) execution.asksAhead++
    }
    return execution
  }

  #release(execution: Execution, item: Recorded<Release>): void {
    if (item.entry.type !== "wait.completed" && item.entry.type !== "event.handled") return execution.release(item)
    const { from } = item.entry
    if (from === undefined) return execution.release(item)
    execution.release(item, this.#state.received(from))
    this.#state.forgetReceived(from)
  }

  /** Matches a recorded ask with one that the code made. */
  #accept({ entry, position }: Recorded<EntryOf<"step.started" | "sleep.started" | "wait.started">>): boolean {
    const execution = this.execution as Execution
    const kind = entry.type === "step.started" ? "do" : entry.type === "sleep.started" ? "sleep" : "wait"
    const event = entry.type === "wait.started" ? entry.event : undefined
    const child = entry.type === "step.started" ? entry.child : undefined
    const answer = execution.asks.accept(entry.id, kind, position, event, child)
    if (answer === "accepted") {
      if (this.#replayLeft > 0) execution.asksAhead--
      this.#listener.onAccepted()
      return true
    }
    const what = kind === "do" ? (child ? "child" : "step") : kind
    const expected = kind === "wait" ? describeWait(entry.id, event) : `${what} "${entry.id}"`
    const mismatch = (found: string): Disagreement => ({ position, step: entry.id, expected, found })
    if (answer !== "missing") this.#listener.onMismatch(mismatch(`asks for ${answer.asked}`))
    else if (execution.outcome) this.#listener.onMismatch(mismatch(endsWithout(execution.outcome, this.#listener.workflow)))
    else this.#listener.onMissing(() => mismatch(asksFor(execution)))
    return false
  }
}

/** What a release queue reports to: the runner of a resident instance, or a replay that only reads. */
export interface ReleaseListener {
  readonly workflow: AnyWorkflow
  executionSpec(): ExecutionSpec
  /** A recorded ask was matched. */
  onAccepted(): void
  /** The code has not asked for something recorded yet: it may do so within the grace. */
  onMissing(describe: () => Disagreement): void
  /** Journal and code disagree. */
  onMismatch(disagreement: Disagreement): void
}

/** Both sides: what the journal has, and what the code does instead. */
export interface Disagreement {
  readonly position: number
  readonly step: string
  readonly expected: string
  readonly found: string
}

export function describeDisagreement({ position, expected, found }: Disagreement): string {
  return `the journal has ${expected} at position ${position}, but the code ${found}; deploy the code that recorded it, then resume`
}

function asksFor(execution: Execution): string {
  const asked = [...execution.asks.fresh.values()].map(({ request }) => describeAsk(request))
  return asked.length === 0 ? "asks for nothing" : `asks for ${asked.join(", ")}`
}

function endsWithout(outcome: Outcome, workflow: AnyWorkflow): string {
  if (outcome.ok) return "ends without asking for it"
  return `throws ${failureText(outcome.error, workflow)} instead of asking for it`
}
