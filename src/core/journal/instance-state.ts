import type { Payload } from "../values/value-codec.ts"
import type { Entry, EntryOf, ParentLink, Recorded, Release, ScheduledFor } from "./journal.ts"
import { MinHeap } from "../collections/min-heap.ts"
import { firesBefore, sooner, untried, type Cancel, type HookState, type OpenChild, type OpenWait, type Timer } from "./open-operations.ts"
import { isTask, openStepOf, type OpenStep } from "./open-step.ts"
import { EventBuffer, type ReceivedEntry } from "./event-buffer.ts"
import { startOf } from "./run-history.ts"
import { SmallMap } from "../collections/small-map.ts"
import { isNested, isRollback, parentOf } from "../workflow/step-id.ts"
import type { RetentionMs } from "../workflow/retention.ts"
import type { Phase, Status, TerminalStatus } from "./status.ts"

/** The shared empty map: an instance in memory has several maps, and most of them stay empty. Nothing is ever put into this one. */
const none = new SmallMap<never>()

function put<V>(map: SmallMap<V>, key: string, value: V): SmallMap<V> {
  const own = map === none ? new SmallMap<V>() : map
  own.set(key, value)
  return own
}

/**
 * The state of an instance, folded from the entries of its last run: open steps, sleeps and waits, timers, buffered events, pause, cancel, status. The
 * engine applies each entry when it records it, and all entries of the run when it loads an instance. The class does not depend on workflow code.
 */
export class InstanceState {
  run = 0
  runPosition = 0
  startedAt = 0
  /** The start time of a delayed instance. */
  startAt: number | undefined = undefined
  /** The position of the last entry. */
  position = 0
  /** The time of the last entry. */
  at = 0
  /** How many steps, sleeps and waits the run has asked for, including those inside steps. */
  asked = 0
  readonly steps = new SmallMap<OpenStep>()
  sleeps: SmallMap<number> = none
  waits: SmallMap<OpenWait> = none
  /** Results of steps inside a step that is still open. They answer the asks again when the outer step is entered again. */
  nested: SmallMap<Recorded<Release>> = none
  /** Created for the first event. */
  #events: EventBuffer | undefined = undefined
  parent: ParentLink | undefined
  /** The seed of the run's random numbers, if it is not that of the run itself. */
  seed: string | undefined
  cancel: Cancel | undefined
  /** A terminate with rollbacks was requested. The run ends when they have run. */
  terminating: { readonly position: number; readonly reason: string | undefined } | undefined
  /** A rollback has started. The engine also sets it, without an entry, when the code has ended and steps are still running. */
  rollingBack = false
  /** Children that have not ended, by the step that started them. */
  children: SmallMap<OpenChild> = none
  /** Children whose starting step has failed after an attempt that may have started them. The run does not wait for them, but ends them with itself. */
  orphanedChildren: SmallMap<OpenChild> | undefined = undefined
  /** The names of accepted updates that have no result yet, by update id. */
  updates: SmallMap<string> = none
  /** The code has handlers and waits for them if nothing else is pending. Handlers cannot be removed, so this stays true. */
  waitsForHandlers = false
  paused: { readonly position: number; readonly at: number; readonly reason: string | undefined } | undefined
  /** The instance was loaded while paused. Steps that the journal shows as running do not run; they start again on resume or cancel. */
  isLoadedPaused = false
  stalled: EntryOf<"stalled"> | undefined
  ended: { readonly status: TerminalStatus; readonly position: number; readonly entry: Entry } | undefined
  /** The workflow that the last run was started with. */
  workflow: string | undefined
  timeoutAt: number | undefined
  retention: RetentionMs | undefined
  schedule: ScheduledFor | undefined
  /** The last tags that the code has set. */
  tags: readonly string[] | undefined
  memo: Payload | undefined
  /** Crashes since the last progress. */
  crashes = 0
  /** A step, sleep or wait of the run has ended, or the code got an event, an update or a child's result. */
  hasProgressed = false
  hook: HookState = untried

  /** Timers of durations, which follow the engine's clock. `#instants` are the timers of instants, which follow the wall clock. */
  #timers: MinHeap<Timer> | undefined = undefined
  #instants: MinHeap<Timer> | undefined = undefined

  apply(recorded: Recorded): void {
    const { entry, position, at } = recorded
    if (position > this.position) this.position = position
    if (at > this.at) this.at = at
    if (this.cancel && this.cancel.graceFrom === undefined) this.cancel.graceFrom = at
    switch (entry.type) {
      case "step.started": {
        const step = this.steps.get(entry.id)
        if (step) {
          step.attempt = entry.attempt
          step.retryAt = undefined
          step.queue = entry.queue
          step.handedBack = entry.handedBack ?? step.handedBack
        } else {
          const parent = parentOf(entry.id)
          const outer = parent === undefined ? undefined : this.steps.get(parent)
          if (outer) outer.hasNested = true
          this.steps.set(entry.id, openStepOf({ ...recorded, entry }))
          this.asked++
          if (entry.child) this.children = put(this.children, entry.id, { ...entry.child, run: recorded.run, position, at })
          if (isRollback(entry.id)) this.rollingBack = true
        }
        return
      }
      case "sleep.started":
        this.asked++
        this.#markParent(entry.id)
        this.sleeps = put(this.sleeps, entry.id, entry.wakeAt)
        this.#setTimer({ kind: "sleep", id: entry.id, dueAt: entry.wakeAt, position }, entry.until)
        return
      case "wait.started":
        this.asked++
        this.#markParent(entry.id)
        this.waits = put(this.waits, entry.id, { id: entry.id, event: entry.event, timeoutAt: entry.timeoutAt, at })
        if (entry.timeoutAt !== undefined) this.#setTimer({ kind: "wait", id: entry.id, dueAt: entry.timeoutAt, position })
        return
      case "step.completed":
        this.#progress()
        return this.#closeStep(entry.id, recorded as Recorded<Release>)
      case "step.failed": {
        this.#progress()
        const step = this.steps.get(entry.id)
        if (step && entry.retryAt !== undefined) {
          step.failures++
          step.retryAt = entry.retryAt
          step.details = entry.details ?? step.details
          this.#setTimer({ kind: "retry", id: entry.id, dueAt: entry.retryAt, position })
          return
        }
        this.#dropChild(entry.id, entry.attempt)
        this.waits.delete(entry.id)
        return this.#closeStep(entry.id, recorded as Recorded<Release>)
      }
      case "child.ended":
        this.#progress()
        this.children.delete(entry.id)
        return
      case "sleep.completed":
        this.#progress()
        this.sleeps.delete(entry.id)
        return this.#keepNested(entry.id, recorded as Recorded<Release>)
      case "wait.completed":
        this.#progress()
        this.waits.delete(entry.id)
        if (entry.from !== undefined) this.#events?.consume(entry.from)
        return this.#keepNested(entry.id, recorded as Recorded<Release>)
      case "wait.timedOut":
        this.#progress()
        this.waits.delete(entry.id)
        return this.#keepNested(entry.id, recorded as Recorded<Release>)
      case "ask.aborted":
        this.sleeps.delete(entry.id)
        this.waits.delete(entry.id)
        if (this.steps.has(entry.id)) this.#orphan(entry.id)
        return this.#closeStep(entry.id, undefined)
      case "event.handled":
        this.#progress()
        return this.#events?.consume(entry.from)
      case "update.accepted":
        this.#progress()
        this.updates = put(this.updates, entry.update, entry.name)
        return
      case "update.completed":
      case "update.failed":
        this.updates.delete(entry.update)
        return
      case "terminate.requested":
        this.terminating = { position, reason: entry.reason }
        this.isLoadedPaused = false
        for (const map of [this.steps, this.sleeps, this.waits, this.nested]) map.clear()
        return
      case "annotated":
        this.tags = entry.tags ?? this.tags
        this.memo = entry.value ?? this.memo
        return
      case "event.received":
        return (this.#events ??= new EventBuffer()).receive({ ...recorded, entry })
      case "cancel.requested":
        this.cancel = {
          position,
          at,
          graceFrom: entry.unowned ? undefined : at,
          cause: entry.cause,
          reason: entry.reason,
          retrying: this.steps.values().filter((step) => step.retryAt !== undefined),
        }
        this.isLoadedPaused = false
        this.sleeps.clear()
        this.waits.clear()
        for (const step of this.steps.values()) if (step.retryAt !== undefined) this.#closeStep(step.id, undefined)
        return
      case "paused":
        this.paused = { position, at, reason: entry.reason }
        return
      case "resumed":
        this.paused = undefined
        this.isLoadedPaused = false
        this.stalled = undefined
        this.crashes = 0
        this.hook = untried
        return
      case "recovered":
        this.crashes++
        return
      case "message.ignored":
      case "patched":
      case "run.continued":
        return
      case "rested":
        if (entry.on === "handlers") this.waitsForHandlers = true
        return
      case "stalled":
        this.stalled = entry
        return
      case "hook.completed":
        this.hook = untried
        return
      case "hook.failed":
        this.hook = { failures: entry.attempt, retryAt: entry.retryAt }
        return
      case "run.started":
        this.run = entry.run
        this.workflow = entry.workflow
        this.runPosition = position
        this.startedAt = startOf({ at, entry })
        if (entry.eventIds) (this.#events ??= new EventBuffer()).inherit(entry.eventIds)
        ;({
          startAt: this.startAt,
          timeoutAt: this.timeoutAt,
          retention: this.retention,
          parent: this.parent,
          seed: this.seed,
          schedule: this.schedule,
          tags: this.tags,
          memo: this.memo,
        } = entry)
        return
      default:
        this.ended = { status: endings[entry.type], position, entry }
    }
  }

  /** The position of the earliest buffered event of this type. */
  earliestBuffered(event: string): number | undefined {
    return this.#events?.first(event)
  }

  /** The events that the code has not taken, in order. */
  buffered(): readonly Recorded<EntryOf<"event.received">>[] {
    return this.#events?.buffered ?? []
  }

  hasEventId(eventId: string): boolean {
    return this.#events?.has(eventId) ?? false
  }

  /** The event ids that the next run inherits if this one continues as new. */
  get eventIds(): readonly string[] {
    return this.#events?.remembered ?? []
  }

  /** The event at that position, while code may ask for it. */
  received(position: number): ReceivedEntry | undefined {
    return this.#events?.received(position)
  }

  /** Drops the entry of the event at this position. */
  forgetReceived(position: number): void {
    this.#events?.forget(position)
  }

  /** The timer that fires first: a sleep, a retry or the timeout of a wait. `aheadMs`: how far the engine's clock is ahead of the wall clock. */
  nextTimer(aheadMs = 0): Timer | undefined {
    const instant = this.#first(this.#instants)
    return sooner(this.#first(this.#timers), instant && { ...instant, dueAt: instant.dueAt + aheadMs })
  }

  #first(timers: MinHeap<Timer> | undefined): Timer | undefined {
    for (;;) {
      const timer = timers?.peek()
      if (timer === undefined || this.#isSet(timer)) return timer
      timers?.pop()
    }
  }

  /** Whether an attempt of the step was started and has not ended. */
  isAttemptRunning(step: OpenStep): boolean {
    return step.retryAt === undefined
  }

  /** Whether the step's function only waits for sleeps, waits and retries inside the step. Such a step does not count as work. */
  isBlocked(step: OpenStep): boolean {
    if (!step.hasNested && !step.isHeldByPause) return false
    const inside = `${step.id}/`
    const nested = this.steps.values().filter((other) => other.id.startsWith(inside))
    if (nested.some((other) => this.isAttemptRunning(other) && !this.isBlocked(other))) return false
    if (step.isHeldByPause || nested.length > 0) return true
    for (const id of this.sleeps.keys()) if (id.startsWith(inside)) return true
    for (const id of this.waits.keys()) if (id.startsWith(inside)) return true
    return false
  }

  /** Whether a step is running here. */
  get isWorking(): boolean {
    if (this.isLoadedPaused) return false
    return this.steps.some((step) => this.isAttemptRunning(step) && step.queue === undefined && !this.isBlocked(step))
  }

  get hasTasks(): boolean {
    return this.steps.some(isTask)
  }

  /** Whether the instance runs steps, and has no pause, cancel, rollback, stall or ending. */
  get isPlainlyRunning(): boolean {
    return !this.ended && !this.stalled && !this.paused && !this.cancel && !this.rollingBack && this.isWorking
  }

  /** Whether a pause is in effect. A cancel and a terminate override it. */
  get isPaused(): boolean {
    return this.paused !== undefined && this.cancel === undefined && this.terminating === undefined
  }

  get status(): Status {
    if (this.ended) return this.ended.status
    if (this.stalled) return "stalled"
    if (this.isPaused) return this.isWorking ? "running" : "paused"
    if (this.isWorking) return "running"
    if (this.waits.size > 0 || this.children.size > 0 || this.hasTasks) return "waiting"
    if (this.nextTimer() !== undefined) return "sleeping"
    return this.waitsForHandlers ? "waiting" : "running"
  }

  get phase(): Phase | undefined {
    if (this.ended || this.stalled) return undefined
    if (this.rollingBack || this.terminating) return "rollingBack"
    if (this.cancel) return "cancelling"
    return this.paused && this.isWorking ? "pausing" : undefined
  }

  #setTimer(timer: Timer, isInstant = false): void {
    if (isInstant) (this.#instants ??= new MinHeap(firesBefore)).push(timer)
    else (this.#timers ??= new MinHeap(firesBefore)).push(timer)
  }

  #isSet(timer: Timer): boolean {
    if (timer.kind === "sleep") return this.sleeps.get(timer.id) === timer.dueAt
    if (timer.kind === "wait") return this.waits.get(timer.id)?.timeoutAt === timer.dueAt
    return this.steps.get(timer.id)?.retryAt === timer.dueAt
  }

  /** The step that starts a child has failed. An earlier attempt may have started the child, which then becomes an orphan. */
  #dropChild(step: string, attempt: number): void {
    return attempt > 1 ? this.#orphan(step) : void this.children.delete(step)
  }

  /** The step that starts a child is given up, and an attempt may have started the child. */
  #orphan(step: string): void {
    const child = this.children.get(step)
    if (child) (this.orphanedChildren ??= new SmallMap()).set(step, child)
    this.children.delete(step)
  }

  #progress(): void {
    this.hasProgressed = true
    this.crashes = 0
  }

  #markParent(id: string): void {
    const parent = parentOf(id)
    const outer = parent === undefined ? undefined : this.steps.get(parent)
    if (outer) outer.hasNested = true
  }

  #keepNested(id: string, recorded: Recorded<Release> | undefined): void {
    if (recorded !== undefined && isNested(id)) this.nested = put(this.nested, id, recorded)
  }

  /** Closes a step and everything inside it. */
  #closeStep(id: string, recorded: Recorded<Release> | undefined): void {
    const step = this.steps.get(id)
    this.steps.delete(id)
    if (step?.hasNested) {
      const inside = `${id}/`
      for (const map of [this.steps, this.sleeps, this.waits, this.nested]) for (const key of map.keys()) if (key.startsWith(inside)) map.delete(key)
    }
    this.#keepNested(id, recorded)
  }
}

const endings = {
  "run.completed": "completed",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
  "run.terminated": "terminated",
} as const
