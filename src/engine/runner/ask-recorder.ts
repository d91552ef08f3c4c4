import type { TimerAsk } from "./due-times.ts"
import type { AskRequest } from "../../core/execution/ask.ts"
import { Payload } from "../../core/values/value-codec.ts"
import type { Execution } from "../../core/execution/execution.ts"
import type { Outcome } from "../../core/execution/run-outcome.ts"
import { matchesForHandlers, matchForWait } from "../../core/journal/event-matching.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Note } from "../../core/journal/journal.ts"
import type { StepAttempts } from "../steps/step-attempts.ts"
import { endingEntry } from "./ending-entry.ts"
import { growthText, isLogged } from "./journal-growth.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/** Turns what workflow code has done since the last release into entries: its asks, its notes, its settled conditions and its end. */
export class AskRecorder {
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

  /** False: there was nothing to record. */
  record(execution: Execution): boolean {
    if (execution.outcome) {
      // The code answered updates and annotated before it ended, so these notes are recorded first.
      for (const note of execution.takeNotes()) if ("update" in note || note.type === "annotated") this.#recordNote(note)
      this.#recordEnd(execution.outcome)
      return true
    }
    this.stopIfUnwinding(execution)
    if (execution.isQuiet) return this.#recordCondition(execution) || this.#recordRested(execution)
    let isNews = execution.notes.length > 0 || execution.hasNewHandlers
    if (execution.notes.length > 0) for (const note of execution.takeNotes()) this.#recordNote(note)
    if (execution.hasNewHandlers) {
      execution.hasNewHandlers = false
      for (const match of matchesForHandlers(this.#state, execution)) this.#runner.record(match)
    }
    // An ask that is answered at once ends the loop. Its answer is released before the next ask is recorded, because the code may then give that ask up.
    execution.asks.fresh.some(({ request }) => {
      if (request.kind === "do" && !this.#attempts.reserveSlot(request.id)) return false
      isNews = true
      return this.recordAsk(request) === "answered"
    })
    return isNews
  }

  /** Settles one condition at a time: the code that continues may make another condition false. */
  #recordCondition(execution: Execution): boolean {
    const result = execution.evaluateConditions()
    if (result === undefined) return false
    const { id } = result
    if ("error" in result) this.#runner.record({ type: "step.failed", id, attempt: 1, value: Payload.ofError(result.error) })
    else this.#runner.settle({ type: "wait.completed", id })
    return true
  }

  /** The code waits only for events and updates of its handlers, which is no ask. An entry of its own records that. */
  #recordRested(execution: Execution): boolean {
    if (this.#state.waitsForHandlers || !execution.onlyHandlersPending) return false
    this.#runner.record({ type: "rested", on: "handlers" })
    return true
  }

  /** The code has ended and is rolled back: its open steps are told to stop, and only rollbacks are retried. */
  stopIfUnwinding(execution: Execution): void {
    if (!execution.isUnwinding) return
    this.#state.rollingBack = true
    this.#attempts.stop(`instance "${this.#runner.id}" is rolled back`)
  }

  recordAsk(request: AskRequest): "answered" | undefined {
    const answer = this.#recordAsk(request)
    this.#warnOfGrowth()
    return answer
  }

  #recordAsk(request: AskRequest): "answered" | undefined {
    if (request.kind === "do") {
      this.#attempts.begin(request, 1)
      return undefined
    }
    const { now } = this.#writer
    if (request.kind === "sleep") {
      const wakeAt = this.#dueAt("sleep", request.id, request.wakeAt(now))
      this.#runner.record({ type: "sleep.started", id: request.id, wakeAt, ...(request.until && { until: true }) })
      return undefined
    }
    const { id, event, timeoutMs } = request
    const wantedAt = now + (timeoutMs ?? Infinity)
    const timeoutAt = this.#dueAt("timeout", id, wantedAt)
    this.#runner.record({
      type: "wait.started",
      id,
      ...(event === undefined ? undefined : { event }),
      ...(timeoutAt === Infinity ? undefined : { timeoutAt }),
    })
    // A wait that a test makes time out does not take an event either that came before.
    const match = event === undefined || timeoutAt < wantedAt ? undefined : matchForWait(this.#state, id, event)
    if (match === undefined) return undefined
    this.#runner.settle(match)
    return "answered"
  }

  #dueAt(kind: TimerAsk["kind"], id: string, dueAt: number): number {
    return this.#context.settings.dueTimes?.({ kind, workflow: this.#runner.workflow.name, instance: this.#runner.id, id }, dueAt) ?? dueAt
  }

  #recordNote(note: Note): void {
    if (note.type === "annotated") this.#writer.annotate(note)
    if (note.type !== "update.completed" && note.type !== "update.failed") return void this.#runner.record(note)
    // On replay the handler ends again, and its update has its answer already.
    if (!this.#state.updates.has(note.update)) return
    this.#runner.queryUpdateResponder.answer(note)
  }

  #recordEnd(outcome: Outcome): void {
    const { limits } = this.#context.settings
    const { sensitive } = this.#runner.workflow.options
    if (outcome.ok && outcome.continues && !this.#state.cancel && !this.#state.terminating) this.#runner.completion.continueAsNew(outcome.continues)
    else this.#runner.completion.end(endingEntry(this.#runner.id, this.#state, outcome, { bytesMax: limits.payloadBytesMax, isSensitive: sensitive?.result }))
  }

  #warnOfGrowth(): void {
    const growth = { asked: this.#state.asked, stepsMax: this.#context.settings.limits.stepsMax }
    if (!isLogged(growth)) return
    const { id } = this.#runner
    this.#context.host.log.warn(`run ${this.#state.run} of instance "${id}" ${growthText(growth)}`, { instance: id, steps: growth.asked })
  }
}
