/**
 * Effects and observations, written down outside the engine: every call of a step's function, and in every execution of workflow
 * code what it saw settle, in which order. What may be seen again differently after a crash is only what was not durable.
 */
import type { JournalMirror } from "./journal-mirror.ts"
import type { SentEvent } from "./program.ts"

/** One execution of workflow code: live, or again from its journal. */
export interface Trace {
  readonly instance: string
  readonly run: number
  readonly worker: string
  readonly seen: Observation[]
  /** How much was durable when it began. */
  readonly durableAtStart: number
  /** How much of it an effect stands on: a step's function was called that the code asked for after having seen that much. */
  pinned: number
  /** The code came to its end before it saw a cancel. */
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
  /** How much the code had seen when it asked for the step. */
  readonly seen: number
  readonly hasInner: boolean
}

export class Ledger {
  readonly traces: Trace[] = []
  calls = 0
  replays = 0
  /** Calls in a process that did not know yet that another had taken over. */
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

  /** The code says how the step is undone. */
  undoable(instance: string, run: number, id: string): void {
    this.#undoable.add(`${instance} ${run} ${id}`)
  }

  sendToChild(child: string, event: SentEvent): void {
    const events = this.sentToChildren.get(child)
    if (events) events.push(event)
    else this.sentToChildren.set(child, [event])
  }

  /** `loaded`: up to which position its journal was read, as far as that is known. */
  begin(instance: string, run: number, worker: string, loaded: number): Trace {
    const durableAtStart = this.#mirror.run(instance, run)?.releasedUpTo(loaded) ?? 0
    const trace: Trace = { instance, run, worker, seen: [], durableAtStart, pinned: 0, isThrough: false }
    if (durableAtStart > 0) this.replays++
    this.traces.push(trace)
    return trace
  }

  /** A step's function is called. */
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
    // A worker that was suspended past its lease cannot know; what it comes to is refused by the store.
    if (step?.settledBy !== undefined && step.settledBy !== trace.worker) this.staleCalls++
    else if (step?.settledBy !== undefined) wrong("after its result became durable")
    // A run that is restarted from a step has what was under way there again, with its key.
    const once = `${trace.run} ${key} ${attempt}`
    if (!call.hasInner && this.#attempts.has(once)) wrong("for the second time")
    this.#attempts.add(once)
  }

  /** Whether this call is one of those that are to throw. */
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

  /** What all executions of a run saw must be what its journal says, as far as it was durable or something stood on it. */
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
