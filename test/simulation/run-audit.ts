import { EventAudit } from "./event-audit.ts"
import type { MirroredEntry, MirroredMessage } from "./journal-mirror.ts"
import { UndoAudit, type UndoRules } from "./undo-audit.ts"

/** Folds the journal of one run, and checks its entries against the rules. The fold is independent of the engine's fold. */
export class RunAudit {
  readonly number: number
  /** Messages acknowledged to their senders since the run began, in that order, that no entry has taken in yet. */
  readonly accepted: MirroredMessage[] = []
  readonly events = new EventAudit()
  readonly undo: UndoAudit
  /** The ids of settled asks, in the order in which code outside steps must see them. */
  readonly released: string[] = []
  readonly #releasedAt: number[] = []
  /** How many of them were there when a cancel came; the order of what it rejects is not in the journal. */
  releasedBeforeCancel: number | undefined
  ended: MirroredEntry | undefined
  cancel: MirroredEntry | undefined
  continued: MirroredEntry | undefined
  recoveries = 0
  /** Children by the step that started them. */
  readonly children = new Map<string, ChildAudit>()
  readonly #steps = new Map<string, StepAudit>()
  readonly #timers = new Map<string, number | undefined>()
  readonly #settled = new Set<string>()
  readonly #givenUp = new Set<string>()
  readonly #updates = new Map<string, "open" | "answered">()
  readonly #patches = new Set<string>()
  /** Children that ended before the step that started them: the code hears of that afterwards. */
  readonly #early = new Set<string>()
  #noted = 0
  #isPaused = false

  constructor(number: number, rules: UndoRules) {
    this.number = number
    this.undo = new UndoAudit(rules)
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

  /** Nothing more happens in it. */
  get over(): MirroredEntry | undefined {
    return this.ended ?? this.continued
  }

  /** Says what is wrong with the entry, if something is. `isKept`: an earlier run recorded it, and this one begins with it. */
  apply(mirrored: MirroredEntry, isKept = false): string | undefined {
    const { entry, position, at } = mirrored
    const id = String(entry["id"])
    const take = (kind: string) => (isKept ? undefined : this.#take(kind))
    if (this.ended && !entry.type.startsWith("hook.")) return `it follows ${this.ended.entry.type} at ${this.ended.position}`
    if (this.continued && !isKept) return `it follows ${this.continued.entry.type} at ${this.continued.position}`
    if (entry.type.endsWith(".started") && this.#isInsideEnded(id)) return "a step around it has ended"
    if ("id" in entry && this.#givenUp.has(id)) return "it was given up"
    switch (entry.type) {
      case "step.started":
        return this.#startStep(id, mirrored)
      case "step.completed":
        this.undo.complete(id)
        return this.#settleStep(id, mirrored)
      case "step.failed": {
        const step = this.#steps.get(id)
        if (step) step.failures++
        if (entry["retryAt"] !== undefined) return undefined
        this.undo.fail(id)
        this.children.delete(id)
        return this.#settleStep(id, mirrored)
      }
      case "sleep.started":
      case "wait.started":
        if (this.#settled.has(id) || this.#timers.has(id)) return "it was asked for before"
        this.#timers.set(id, (entry["wakeAt"] ?? entry["timeoutAt"]) as number | undefined)
        if (entry.type === "wait.started" && "event" in entry) this.events.wait(id, entry["event"] as string)
        return undefined
      case "sleep.completed":
      case "wait.timedOut": {
        const dueAt = this.#timers.get(id)
        if (dueAt === undefined || at < dueAt) return `it fires at ${at} and is due at ${dueAt}`
        return this.#settle(id, position)
      }
      case "wait.completed":
        if (!("from" in entry)) return this.#timers.has(id) ? this.#settle(id, position) : "nobody waits"
        return this.events.complete(id, entry["from"] as number) ?? this.#settle(id, position)
      case "event.received":
        return this.#receive(mirrored, isKept)
      case "event.handled":
        this.#release(`on:${String(entry["event"])}`, position)
        return this.events.handle(entry["event"] as string, entry["from"] as number)
      case "ask.aborted":
        this.#giveUp(id)
        return undefined
      case "child.ended":
        return (isKept ? undefined : this.#takeChild(id)) ?? this.#endChild(id, mirrored)
      case "update.accepted":
        return this.#acceptUpdate(mirrored, isKept)
      case "update.completed":
      case "update.failed":
        return this.#answerUpdate(mirrored, isKept)
      case "patched":
        if (this.#patches.has(String(entry["patch"]))) return "it is recorded already"
        this.#patches.add(String(entry["patch"]))
        return undefined
      case "annotated": {
        // The code counts its steps in a memo, and each number is noted once, in order.
        const { done } = entry["value"] as { done: number }
        if (done !== this.#noted + 1) return `it notes ${done} after ${this.#noted}`
        this.#noted = done
        return undefined
      }
      case "message.ignored":
        return this.#ignore(String(entry["kind"]))
      case "paused":
        // A pausing instance notes by itself that it is paused.
        if (this.#isPaused) return undefined
        this.#isPaused = true
        return take("pause")
      case "resumed":
        this.#isPaused = false
        return take("resume")
      case "cancel.requested":
        if (this.cancel) return "it is cancelled already"
        this.cancel = mirrored
        this.releasedBeforeCancel ??= this.released.length
        return take("cancel")
      case "terminate.requested":
        this.undo.isDemanded = true
        this.releasedBeforeCancel ??= this.released.length
        return take("terminate")
      case "recovered":
        this.recoveries++
        return undefined
      case "run.continued":
        this.continued = mirrored
        return undefined
      case "run.completed":
      case "run.failed":
      case "run.cancelled":
      case "run.terminated":
        this.ended = mirrored
        return this.undo.end(mirrored, this.cancel)
      case "stalled":
        return `the instance stalls: ${String(entry["message"])}`
      default:
        return position > 0 ? undefined : "no such position"
    }
  }

  #startStep(id: string, { entry, worker, position, run }: MirroredEntry): string | undefined {
    if (this.#settled.has(id)) return "its result is recorded"
    const known = this.#steps.get(id)
    const step = known ?? { attempt: 0, failures: 0, startedBy: new Map<number, string>(), settledBy: undefined, result: undefined }
    this.#steps.set(id, step)
    const link = entry["child"] as { readonly instance: string; readonly onParentEnd: string } | undefined
    if (link && !known) this.children.set(id, { ...link, run, position, isEnded: false })
    const attempt = entry["attempt"] as number
    if (attempt !== step.attempt + 1) return `attempt ${attempt} follows attempt ${step.attempt}`
    step.attempt = attempt
    step.startedBy.set(attempt, worker)
    return known ? undefined : this.undo.start(id)
  }

  #isInsideEnded(id: string): boolean {
    const end = id.lastIndexOf("/")
    if (end < 0) return false
    const outer = id.slice(0, end)
    return !this.#steps.has(outer) || this.#settled.has(outer) || this.#isInsideEnded(outer)
  }

  #settleStep(id: string, { entry, worker, position }: MirroredEntry): string | undefined {
    const step = this.#steps.get(id)
    if (!step) return "it was never started"
    step.settledBy = worker
    if (entry.type === "step.completed") step.result = entry["value"]
    const problem = this.#settle(id, position)
    if (this.#early.delete(id)) this.#release(`child:${id}`, position)
    return problem
  }

  #settle(id: string, position: number): string | undefined {
    if (this.#settled.has(id)) return "it is settled already"
    this.#settled.add(id)
    if (!id.includes("/") && !id.endsWith("#rollback")) this.#release(id, position)
    return undefined
  }

  #release(id: string, position: number): void {
    this.released.push(id)
    this.#releasedAt.push(position)
  }

  /** The code does not get a result that was settled before its abort was recorded. */
  #giveUp(id: string): void {
    const index = this.released.indexOf(id)
    if (index >= 0) {
      this.released.splice(index, 1)
      this.#releasedAt.splice(index, 1)
    } else if (id.includes("/")) this.#timers.delete(id)
    // A nested ask may come again when its step is entered again.
    else this.#givenUp.add(id)
    this.events.giveUp(id)
  }

  #endChild(id: string, { entry, position }: MirroredEntry): string | undefined {
    const child = this.children.get(id)
    if (!child || child.isEnded) return child ? "it has ended already" : "no step started it"
    if (child.instance !== entry["instance"]) return `the step started ${child.instance}`
    child.isEnded = true
    if (this.#settled.has(id)) this.#release(`child:${id}`, position)
    else this.#early.add(id)
    return undefined
  }

  /** Controls and events are handled in the order of their acknowledgement. */
  #take(kind: string): string | undefined {
    const index = this.accepted.findIndex((message) => message.kind === kind)
    if (index < 0) return `no ${kind} that was acknowledged is left to be taken in`
    this.accepted.splice(index, 1)
    return undefined
  }

  #takeChild(id: string): string | undefined {
    const next = this.accepted.find((message) => message.kind === "child")
    // One that an earlier run started may have told that run, or nobody: then the engine finds out itself.
    const isFoundOut = (this.children.get(id)?.run ?? this.number) < this.number && !this.accepted.some(({ kind, topic }) => kind === "child" && topic === id)
    if (isFoundOut) return undefined
    return next && next.topic !== id ? `the next child that is said to have ended is ${next.topic}` : this.#take("child")
  }

  #receive({ entry, position }: MirroredEntry, isKept: boolean): string | undefined {
    const [type, text] = [entry["event"] as string, JSON.stringify(entry["value"])]
    const problem = this.events.receive(type, text, entry["eventId"] as string | undefined, position, isKept)
    if (problem !== undefined || isKept) return problem
    const next = this.accepted.find((message) => message.kind === "event")
    if (next?.topic !== type || next.payload !== text) return `it has ${type} ${text}; the next event acknowledged is ${JSON.stringify(next)}`
    return this.#take("event")
  }

  #ignore(kind: string): string | undefined {
    const next = this.accepted.find((message) => message.kind === kind)
    if (kind === "event" && !this.events.isKnown(next?.eventId)) return `an event is ignored that is no duplicate: ${JSON.stringify(next)}`
    // A child whose starting step was given up may have been started all the same. Its end concerns nobody.
    const isAwaited = kind === "child" && !this.#givenUp.has(next?.topic ?? "")
    const child = isAwaited ? this.children.get(next?.topic ?? "") : undefined
    if (child && !child.isEnded && child.run === (JSON.parse(next?.payload ?? "{}") as { run?: number }).run)
      return `the end of a child is ignored that nobody knows of: ${JSON.stringify(next)}`
    return this.#take(kind)
  }

  #acceptUpdate({ entry, position }: MirroredEntry, isKept: boolean): string | undefined {
    const update = String(entry["update"])
    if (this.#updates.has(update)) return "it was taken in before"
    this.#updates.set(update, "open")
    this.#release(`update:${(entry["value"] as readonly string[]).join()}`, position)
    return isKept ? undefined : this.#takeUpdate(update)
  }

  /** A refused update is answered without being accepted. */
  #answerUpdate({ entry }: MirroredEntry, isKept: boolean): string | undefined {
    const update = String(entry["update"])
    const known = this.#updates.get(update)
    if (known === "answered") return "it is answered already"
    this.#updates.set(update, "answered")
    if (known === "open" || isKept) return undefined
    return entry.type === "update.completed" ? "it was never accepted" : this.#takeUpdate(update)
  }

  #takeUpdate(update: string): string | undefined {
    const next = this.accepted.find((message) => message.kind === "update")
    return next && next.eventId !== update ? `the next update that was acknowledged is ${next.eventId}` : this.#take("update")
  }
}

export interface ChildAudit {
  readonly instance: string
  readonly onParentEnd: string
  /** That asked for it. */
  readonly run: number
  readonly position: number
  isEnded: boolean
}

export interface StepAudit {
  attempt: number
  failures: number
  /** The worker that recorded the begin of each attempt. */
  readonly startedBy: Map<number, string>
  settledBy: string | undefined
  /** The result that is recorded, if the step completed. */
  result: unknown
}
