/**
 * Records effects and observations outside of the engine: every call of a step's function, and for every execution of workflow
 * code the results that it saw, in order. After a crash, only results that were not durable may differ.
 */
import type { JournalMirror } from "./journal-mirror.ts"
import type { SentEvent } from "./program.ts"

/** One execution of workflow code: live, or a replay from its journal. */
export interface Trace {
  readonly instance: string
  readonly run: number
  readonly worker: string
  readonly seen: Observation[]
  /** How many results were durable when the execution began. */
  readonly durableAtStart: number
  /** How many of the seen results an effect depends on: the code had seen them when it asked for a step whose function was called. */
  pinned: number
  /** Whether the code ended before it saw a cancel. */
  isThrough: boolean
}

export interface Observation {
  readonly id: string
  readonly outcome: string
}

export interface StepCall {
  readonly trace: Trace
  /** The step's id, with the path of the steps around it. */
  readonly id: string
  readonly label: string
  readonly key: string
  readonly attempt: number
  /** How many results the code had seen when it asked for the step. */
  readonly seen: number
  readonly hasInner: boolean
}

export class Ledger {
  readonly traces: Trace[] = []
  calls = 0
  replays = 0
  /** Calls in a process that did not know yet that another process had taken over. */
  staleCalls = 0
  readonly #mirror: JournalMirror
  readonly #report: (violation: string) => void
  readonly #labels = new Map<string, string>()
  readonly #attempts = new Set<string>()
  readonly #throws = new Map<string, number>()
  readonly #undoable: Set<string>
  /** Events that parents sent to their children, by the child's id. */
  readonly sentToChildren = new Map<string, SentEvent[]>()

  constructor(mirror: JournalMirror, report: (violation: string) => void) {
    this.#mirror = mirror
    this.#undoable = mirror.undoable
    this.#report = report
  }

  /** Notes that the step has a rollback. */
  undoable(instance: string, run: number, id: string): void {
    this.#undoable.add(`${instance} ${run} ${id}`)
  }

  sendToChild(child: string, event: SentEvent): void {
    const events = this.sentToChildren.get(child)
    if (events) events.push(event)
    else this.sentToChildren.set(child, [event])
  }

  /** Begins an execution. `loaded` is the known position up to which its journal was read. */
  begin(instance: string, run: number, worker: string, loaded: number): Trace {
    const durableAtStart = this.#mirror.run(instance, run)?.releasedUpTo(loaded) ?? 0
    const trace: Trace = { instance, run, worker, seen: [], durableAtStart, pinned: 0, isThrough: false }
    if (durableAtStart > 0) this.replays++
    this.traces.push(trace)
    return trace
  }

  /** Notes a call of a step's function. */
  call(call: StepCall): void {
    const { trace, id, attempt, key, label } = call
    this.calls++
    trace.pinned = Math.max(trace.pinned, call.seen)
    const wrong = (what: string) => this.#report(`${trace.instance} run ${trace.run}: the function of ${id} is called as attempt ${attempt}, ${what}`)
    const known = this.#labels.get(key)
    if (known !== undefined && known !== label) wrong(`with the idempotency key of ${known} for ${label}`)
    this.#labels.set(key, label)
    const step = this.#mirror.run(trace.instance, trace.run)?.step(id)
    const startedBy = step?.startedBy.get(attempt)
    if (startedBy === undefined) return wrong("before its start is durable")
    if (startedBy !== trace.worker && !call.hasInner) wrong(`which another worker has begun`)
    // A worker that was suspended past its lease cannot know this. The store refuses its result.
    if (step?.settledBy !== undefined && step.settledBy !== trace.worker) this.staleCalls++
    else if (step?.settledBy !== undefined) wrong("after its result became durable")
    // A run that is restarted from a step repeats the steps that were running there, with the same keys.
    const once = `${trace.run} ${key} ${attempt}`
    if (!call.hasInner && this.#attempts.has(once)) wrong("for the second time")
    this.#attempts.add(once)
  }

  /** Notes what a rollback was given: the recorded result of its step, or nothing if the step did not complete, and the number of the step's attempts. */
  undo(trace: Trace, id: string, result: unknown, attempts: number): void {
    const step = this.#mirror.run(trace.instance, trace.run)?.step(id)
    const recorded = JSON.stringify([step?.result, step?.attempt])
    const given = JSON.stringify([result, attempts])
    if (given !== recorded) this.#report(`${trace.instance} run ${trace.run}: the rollback of ${id} is given ${given}, and the journal has ${recorded}`)
  }

  /** Whether this call has to throw. */
  throws(key: string, fails: number): boolean {
    const thrown = this.#throws.get(key) ?? 0
    if (thrown >= fails) return false
    this.#throws.set(key, thrown + 1)
    return true
  }

  /** A nested result reaches the function of the step around it. */
  seeNested(trace: Trace, id: string, outcome: string): void {
    if (outcome === "cancelled" || this.#mirror.run(trace.instance, trace.run)?.isSettled(id)) return
    this.#report(`${trace.instance} run ${trace.run}: nested ${id} gives ${outcome} before that is durable`)
  }

  /** Checks that all executions of a run saw the results of its journal, as far as these were durable or an effect depended on them. */
  check(): void {
    const seen = new Map<string, Observation[]>()
    for (const trace of this.traces) {
      const run = this.#mirror.run(trace.instance, trace.run)
      const released = run?.released.slice(0, run.releasedBeforeCancel) ?? []
      const firm = Math.min(trace.seen.length, Math.max(trace.pinned, trace.durableAtStart))
      const common = seen.get(`${trace.instance} ${trace.run}`) ?? []
      seen.set(`${trace.instance} ${trace.run}`, common)
      for (let index = 0; index < firm; index++) {
        const observation = trace.seen[index]!
        const wrong = (what: string) =>
          this.#report(`${trace.instance} run ${trace.run}: execution by ${trace.worker} saw ${observation.id}=${observation.outcome} at ${index}, ${what}`)
        if (index < released.length && released[index] !== observation.id) wrong(`where the journal has ${released[index]}`)
        if (index >= released.length && run?.releasedBeforeCancel === undefined) wrong(`which the journal does not have`)
        const other = (common[index] ??= observation)
        if (other.id !== observation.id || other.outcome !== observation.outcome) wrong(`and another saw ${other.id}=${other.outcome}`)
      }
    }
  }
}
