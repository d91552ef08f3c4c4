import type { MirroredEntry, MirroredMessage } from "./journal-mirror.ts"

/** One run of one instance as its journal tells it, and the rules that its entries must keep to. A fold of its own, apart from the engine's. */
export class RunAudit {
  readonly number: number
  /** Messages acknowledged to their senders since the run began, in that order, that no entry has taken in yet. */
  readonly accepted: MirroredMessage[] = []
  /** Ids of what was settled, in the order in which code outside steps must see it. */
  readonly released: string[] = []
  readonly #releasedAt: number[] = []
  /** How many of them were there when a cancel came; the order of what it rejects is not in the journal. */
  releasedBeforeCancel: number | undefined
  ended: MirroredEntry | undefined
  cancel: MirroredEntry | undefined
  readonly #steps = new Map<string, StepAudit>()
  readonly #timers = new Map<string, number | undefined>()
  readonly #waits = new Map<string, string>()
  readonly #buffered = new Map<string, number[]>()
  readonly #eventIds = new Set<string>()
  readonly #settled = new Set<string>()
  #isPaused = false
  recoveries = 0

  constructor(number: number) {
    this.number = number
  }

  step(id: string): StepAudit | undefined {
    return this.#steps.get(id)
  }

  /** How much of what is released is at or before that position. */
  releasedUpTo(position: number): number {
    return this.#releasedAt.filter((at) => at <= position).length
  }

  isSettled(id: string): boolean {
    return this.#settled.has(id)
  }

  /** Says what is wrong with the entry, if something is. */
  apply(mirrored: MirroredEntry): string | undefined {
    const { entry, position, at, worker } = mirrored
    const id = String(entry["id"])
    if (this.ended && !entry.type.startsWith("hook.")) return `it follows ${this.ended.entry.type} at ${this.ended.position}`
    if (entry.type.endsWith(".started") && this.#isInsideEnded(id)) return "a step around it has ended"
    switch (entry.type) {
      case "step.started": {
        if (this.#settled.has(id)) return "its result is recorded"
        const step = this.#steps.get(id) ?? { attempt: 0, failures: 0, startedBy: new Map<number, string>(), settledBy: undefined }
        this.#steps.set(id, step)
        const attempt = entry["attempt"] as number
        if (attempt !== step.attempt + 1) return `attempt ${attempt} follows attempt ${step.attempt}`
        step.attempt = attempt
        step.startedBy.set(attempt, worker)
        return undefined
      }
      case "step.completed":
        return this.#settleStep(id, mirrored)
      case "step.failed": {
        const step = this.#steps.get(id)
        if (step) step.failures++
        return entry["retryAt"] === undefined ? this.#settleStep(id, mirrored) : undefined
      }
      case "sleep.started":
        if (this.#settled.has(id) || this.#timers.has(id)) return "it was asked for before"
        this.#timers.set(id, entry["wakeAt"] as number)
        return undefined
      case "wait.started":
        if (this.#settled.has(id) || this.#timers.has(id)) return "it was asked for before"
        this.#timers.set(id, entry["timeoutAt"] as number | undefined)
        this.#waits.set(id, entry["event"] as string)
        return undefined
      case "sleep.completed":
      case "wait.timedOut": {
        const dueAt = this.#timers.get(id)
        if (dueAt === undefined || at < dueAt) return `it fires at ${at} and is due at ${dueAt}`
        return this.#settle(id, position)
      }
      case "wait.completed":
        return this.#consume(id, entry["from"] as number) ?? this.#settle(id, position)
      case "event.received":
        return this.#receive(mirrored)
      case "message.ignored":
        return this.#ignore(String(entry["kind"]))
      case "paused":
        // A pausing instance notes by itself when it has come to rest.
        if (this.#isPaused) return undefined
        this.#isPaused = true
        return this.#take("pause")
      case "resumed":
        this.#isPaused = false
        return this.#take("resume")
      case "cancel.requested":
        if (this.cancel) return "it is cancelled already"
        this.cancel = mirrored
        this.releasedBeforeCancel = this.released.length
        return this.#take("cancel")
      case "recovered":
        this.recoveries++
        return undefined
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
      case "run.terminated":
        this.ended = mirrored
        return undefined
      case "stalled":
        return `the instance stalls: ${String(entry["message"])}`
      default:
        return position > 0 ? undefined : "no such position"
    }
  }

  #isInsideEnded(id: string): boolean {
    const end = id.lastIndexOf("/")
    if (end < 0) return false
    const outer = id.slice(0, end)
    return !this.#steps.has(outer) || this.#settled.has(outer) || this.#isInsideEnded(outer)
  }

  #settleStep(id: string, { worker, position }: MirroredEntry): string | undefined {
    const step = this.#steps.get(id)
    if (!step) return "it was never started"
    step.settledBy = worker
    return this.#settle(id, position)
  }

  #settle(id: string, position: number): string | undefined {
    if (this.#settled.has(id)) return "it is settled already"
    this.#settled.add(id)
    if (id.includes("/")) return undefined
    this.released.push(id)
    this.#releasedAt.push(position)
    return undefined
  }

  /** Controls and events are taken in in the order in which their senders got them acknowledged. */
  #take(kind: string): string | undefined {
    const index = this.accepted.findIndex((message) => message.kind === kind)
    if (index < 0) return `no ${kind} that was acknowledged is left to be taken in`
    this.accepted.splice(index, 1)
    return undefined
  }

  #receive({ entry, position }: MirroredEntry): string | undefined {
    const next = this.accepted.find((message) => message.kind === "event")
    const type = entry["event"] as string
    if (next?.topic !== type || next.payload !== JSON.stringify(entry["value"])) {
      return `it has ${type} ${JSON.stringify(entry["value"])}; the next event acknowledged is ${JSON.stringify(next)}`
    }
    const eventId = entry["eventId"] as string | undefined
    if (eventId !== undefined && this.#eventIds.has(eventId)) return `event id ${eventId} is taken in twice`
    if (eventId !== undefined) this.#eventIds.add(eventId)
    this.#buffered.set(type, [...(this.#buffered.get(type) ?? []), position])
    return this.#take("event")
  }

  #ignore(kind: string): string | undefined {
    const next = this.accepted.find((message) => message.kind === kind)
    if (kind === "event" && !(next?.eventId !== undefined && this.#eventIds.has(next.eventId)))
      return `an event is ignored that is no duplicate: ${JSON.stringify(next)}`
    return this.#take(kind)
  }

  #consume(id: string, from: number): string | undefined {
    const type = this.#waits.get(id) ?? ""
    const queue = this.#buffered.get(type) ?? []
    if (queue[0] !== from) return `it takes the event at ${from}; the first of ${type} is at ${queue[0]}`
    queue.shift()
    return undefined
  }
}

export interface StepAudit {
  attempt: number
  failures: number
  /** Which worker wrote that the attempt begins. */
  readonly startedBy: Map<number, string>
  settledBy: string | undefined
}
