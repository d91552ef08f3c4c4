import { failureText } from "../../core/values/error-text.ts"
import type { Outcome } from "../../core/execution/run-outcome.ts"
import type { Execution } from "../../core/execution/execution.ts"
import { isAsk, type EntryOf, type Recorded } from "../../core/journal/journal.ts"
import { describeAsk, describeWait } from "../../core/execution/open-asks.ts"
import { isNested } from "../../core/workflow/step-id.ts"
import type { ReleaseListener } from "./release-queue.ts"

type RecordedAsk = Recorded<EntryOf<"step.started" | "sleep.started" | "wait.started">>

/**
 * Replay. After a load the release queue is full of entries from the store, and the code runs again from the beginning. The queue releases these
 * entries in their order, as it does with new ones. This class knows how many of them are left, and matches each recorded ask with an ask of the code:
 *
 *   the code asks for the same         the entry counts as seen, and its outcome is released in its turn
 *   the code has not asked yet         the queue waits: the runner gives the code a grace, then reports a disagreement
 *   the code asks for something else,  a disagreement: the instance stalls, and the error names both sides
 *   or ends
 *
 * New asks are matched in the same way, directly after they are recorded. When no entry from the store is left, the instance is live.
 */
export class Replay {
  readonly #listener: ReleaseListener
  #entriesLeft = 0

  constructor(listener: ReleaseListener) {
    this.#listener = listener
  }

  get isRunning(): boolean {
    return this.#entriesLeft > 0
  }

  /** As many entries as the queue holds now come from the store. */
  begin(entries: number): void {
    this.#entriesLeft = entries
  }

  /** An entry has left the queue. */
  passed(): void {
    if (this.#entriesLeft > 0) this.#entriesLeft--
  }

  /** Tells new code what lies ahead in the journal: `patched` and annotations depend on it. */
  prepare(execution: Execution, items: readonly Recorded[]): void {
    if (!this.isRunning) return
    for (const { entry } of items) {
      if (entry.type === "patched") execution.recordedPatch(entry.patch)
      else if (entry.type === "annotated") execution.annotations.recorded++
      else if (isAsk(entry) && !isNested(entry.id)) execution.asksAhead++
    }
  }

  /** Matches a recorded ask with an ask of the code. False: the code has not made that ask. */
  accept(execution: Execution, { entry, position }: RecordedAsk): boolean {
    const kind = entry.type === "step.started" ? "do" : entry.type === "sleep.started" ? "sleep" : "wait"
    const event = entry.type === "wait.started" ? entry.event : undefined
    const child = entry.type === "step.started" ? entry.child : undefined
    const answer = execution.asks.accept(entry.id, kind, position, event, child)
    if (answer === "accepted") {
      if (this.isRunning) execution.asksAhead--
      this.#listener.onAskMatched()
      return true
    }
    const what = kind === "do" ? (child ? "child" : "step") : kind
    const expected = kind === "wait" ? describeWait(entry.id, event) : `${what} "${entry.id}"`
    const mismatch = (found: string): Disagreement => ({ position, step: entry.id, expected, found })
    if (answer !== "missing") this.#listener.onMismatch(mismatch(`asks for ${answer.asked}`))
    else if (execution.outcome) this.#listener.onMismatch(mismatch(endsWithout(execution.outcome, this.#listener.workflow)))
    else this.#listener.onAskMissing(() => mismatch(asksFor(execution)))
    return false
  }
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

function endsWithout(outcome: Outcome, workflow: ReleaseListener["workflow"]): string {
  if (outcome.ok) return "ends without asking for it"
  return `throws ${failureText(outcome.error, workflow)} instead of asking for it`
}
