import { keptAtRest, unlimited } from "../../core/workflow/flow-options.ts"
import { isTerminal, type Status } from "../../core/journal/status.ts"
import type { LimitUse } from "../../ports/flow-control.ts"
import type { RowState } from "../../ports/journal-store.ts"

/**
 * Decides which instances may run and which is next. This is the one algorithm of flow control; it works on the rows of any store that can read and
 * write them within a transaction. An instance takes the slots of its limits in order, so it always holds the first `limitsHeld` of them. All
 * instances of a workflow take slots in this order and release them from its end, so no two instances can wait for each other.
 *
 *   concurrency  one slot for each instance that runs, at most `max`
 *   rate         one slot in all, for the instance that starts next. The instance holds this slot until the rate allows its start, and passes it on
 *                when it starts. So a start is counted when it happens, and only one instance of a queue has a time to wake up at.
 *
 * A free slot goes to the first instance of its queue at once. Limits without keys come before single keys: otherwise an instance from the queue of
 * a key would overtake the instances that queue for the whole limit.
 */
export class Admission<R extends FlowRecord> {
  readonly #rows: FlowRows<R>
  /** Limit keys whose slots may have become free: keys of whole limits, and single keys. */
  readonly #freedWide = new Set<string>()
  readonly #freedKeyed = new Set<string>()

  constructor(rows: FlowRows<R>) {
    this.#rows = rows
  }

  /** Takes the slots that the instance lacks. False: the instance queues for a slot. */
  tryAdmit(record: R): boolean {
    const isComplete = !this.#yieldsToHigherPriority(record) && this.#takeMissing(record)
    this.#rows.save(record)
    this.#admitNext()
    return isComplete
  }

  /** Releases or reorders slots when a turn changes the state of the instance. `run`: the run before that turn. */
  applyState(record: R, run: number, state: RowState): void {
    const { status, phase, owner, dueAt = 0 } = state
    const isNewRun = status === "queued" && state.run !== run
    if (isNewRun) record.isStartCounted = false
    if (isTerminal(status) || status === "paused" || status === "stalled") this.#releaseFrom(record, 0)
    else if (isNewRun || (status === "queued" && dueAt > this.#rows.now())) this.#releaseFrom(record, 0)
    else if (owner === undefined && (status === "sleeping" || status === "waiting")) this.releaseSlots(record)
    else if (phase === "cancelling" && record.queuedFor !== undefined) this.#moveToFront(record)
  }

  /** Releases the slots of an instance that sleeps or waits and has no owner. An instance in a queue keeps its place. */
  releaseSlots(record: R): void {
    if (record.queuedFor === undefined) this.#releaseFrom(record, keptAtRest(record.uses))
  }

  /** Admits queued instances after the numbers of their limits have changed. */
  limitsChanged(limitKeys: Iterable<string>): void {
    for (const key of limitKeys) {
      const next = this.#rows.holder(key)
      // The instance that waits for the time of a rate gets another time.
      if (next?.queuedFor === key) {
        this.#rows.removeHolder(key, next)
        next.queuedUntil = undefined
        this.#rows.save(next)
      }
      this.#freedKeyed.add(key)
    }
    this.#admitNext()
  }

  /** Call this when the transaction failed: its changes never happened. */
  reset(): void {
    this.#freedKeyed.clear()
    this.#freedWide.clear()
  }

  #releaseFrom(record: R, keep: number): void {
    const { uses } = record
    const from = Math.min(record.limitsHeld, keep)
    for (const use of uses.slice(from, record.limitsHeld)) this.#free(record, use)
    const waitsFor = record.queuedFor === undefined ? undefined : uses[record.limitsHeld]
    if (waitsFor?.kind === "rate") this.#free(record, waitsFor)
    record.limitsHeld = from
    dequeue(record)
    this.#rows.save(record)
    this.#admitNext()
  }

  #free(record: R, use: LimitUse): void {
    // The slot of a rate was passed on when the instance started.
    if (use.kind === "rate" && record.isStartCounted) return
    this.#rows.removeHolder(use.key, record)
    if (use.isKeyed) this.#freedKeyed.add(use.key)
    else this.#freedWide.add(use.key)
  }

  /** Passes the slot of a rate on if the instance may start now, but an instance of a higher priority has joined the queue meanwhile. */
  #yieldsToHigherPriority(record: R): boolean {
    const { queuedFor, queuedUntil } = record
    if (queuedFor === undefined || queuedUntil === undefined || queuedUntil > this.#rows.now()) return false
    if (this.#rows.firstQueued(queuedFor)?.key === record.key) return false
    this.#rows.removeHolder(queuedFor, record)
    record.queuedUntil = undefined
    this.#freedKeyed.add(queuedFor)
    return true
  }

  #takeMissing(record: R): boolean {
    const { uses } = record
    for (; record.limitsHeld < uses.length; record.limitsHeld++) {
      const use = uses[record.limitsHeld]!
      const mayPass = use.kind === "concurrency" ? this.#takeSlot(record, use) : record.isStartCounted || this.#takeRateSlot(record, use)
      if (!mayPass) return false
    }
    if (!record.isStartCounted) for (const use of uses) if (use.kind === "rate") this.#countStart(record, use)
    record.isStartCounted = true
    dequeue(record)
    return true
  }

  #takeSlot(record: R, use: LimitUse): boolean {
    if (this.#rows.slotsInUse(use.key) >= this.#rows.numbers(use).max) return this.#enqueue(record, use, undefined)
    this.#rows.addHolder(use.key, record)
    return true
  }

  #takeRateSlot(record: R, use: LimitUse): boolean {
    const holder = this.#rows.holder(use.key)
    if (holder !== undefined && holder.key !== record.key) return this.#enqueue(record, use, undefined)
    if (holder === undefined) this.#rows.addHolder(use.key, record)
    const at = this.#allowedAt(use)
    return at <= this.#rows.now() || this.#enqueue(record, use, at === Infinity ? undefined : at)
  }

  /** The generic cell rate algorithm: `tat` is when all starts would have been due if they had been spread evenly. */
  #allowedAt(use: LimitUse): number {
    const { max, perMs = 0 } = this.#rows.numbers(use)
    if (max === 0) return Infinity
    if (max >= unlimited) return 0
    return Math.ceil(this.#tat(use.key, perMs) - perMs + perMs / max)
  }

  #tat(key: string, perMs: number): number {
    const latest = this.#rows.now() + perMs
    const tat = this.#rows.tat(key) ?? this.#rows.now()
    if (tat <= latest) return tat
    // The stored time is from a slower rate. It must not be further ahead than the present rate allows.
    this.#rows.setTat(key, latest)
    return latest
  }

  #countStart(record: R, use: LimitUse): void {
    const { max, perMs = 0 } = this.#rows.numbers(use)
    if (max > 0 && max < unlimited) this.#rows.setTat(use.key, Math.max(this.#tat(use.key, perMs), this.#rows.now()) + perMs / max)
    this.#free(record, use)
  }

  #enqueue(record: R, use: LimitUse, until: number | undefined): false {
    if (record.queuedFor !== use.key) {
      record.queuedFor = use.key
      record.queuedPriority = record.isCancelling ? unlimited : record.priority
      record.queuedSeq = this.#rows.nextQueueSeq()
    }
    record.queuedUntil = until
    return false
  }

  /** An instance that is being cancelled has little time to clean up, so it goes first. */
  #moveToFront(record: R): void {
    record.queuedPriority = unlimited
    this.#rows.save(record)
  }

  #admitNext(): void {
    for (;;) {
      const keys = this.#freedWide.size > 0 ? this.#freedWide : this.#freedKeyed
      const key = keys.values().next().value
      if (key === undefined) return
      keys.delete(key)
      this.#admitNextOf(key)
    }
  }

  #admitNextOf(key: string): void {
    for (let next = this.#rows.firstQueued(key); next !== undefined; next = this.#rows.firstQueued(key)) {
      const { queuedUntil } = next
      const isComplete = this.#takeMissing(next)
      const isStillQueued = next.queuedFor === key
      if (isStillQueued && next.queuedUntil === queuedUntil) return
      this.#rows.save(next)
      if (isComplete) this.#rows.onAdmitted(next)
      else if (next.queuedUntil !== undefined) this.#rows.onStartScheduled(next)
      if (isStillQueued) return
      // The instance may have passed on the slot of a rate without keys, and such limits come first.
      if (this.#freedWide.size > 0) return void this.#freedKeyed.add(key)
    }
  }
}

/** The flow-control columns of an instance with limits. */
export interface FlowRecord {
  readonly key: number
  readonly priority: number
  readonly isCancelling: boolean
  readonly uses: readonly LimitUse[]
  /** Of how many of its limits the instance holds slots, from the first limit on. */
  limitsHeld: number
  /** Whether the rates have counted the instance's start. */
  isStartCounted: boolean
  queuedFor: string | undefined
  queuedPriority: number
  queuedSeq: number
  queuedUntil: number | undefined
}

/** The rows of a store, within one transaction. */
export interface FlowRows<R extends FlowRecord> {
  now(): number
  /** The numbers in force: as set, else as declared, else as they were when the instance was created. */
  numbers(use: LimitUse): { readonly max: number; readonly perMs?: number }
  slotsInUse(limitKey: string): number
  /** One of the instances that hold slots of the key. */
  holder(limitKey: string): R | undefined
  addHolder(limitKey: string, record: R): void
  removeHolder(limitKey: string, record: R): void
  /** The first instance of the queue: highest priority, then longest in the queue. */
  firstQueued(limitKey: string): R | undefined
  nextQueueSeq(): number
  tat(limitKey: string): number | undefined
  setTat(limitKey: string, tat: number): void
  save(record: R): void
  /** Call this when a queued instance has got all its slots: it is due at once. */
  onAdmitted(record: R): void
  /** Call this when a queued instance has got a time at which it may start. */
  onStartScheduled(record: R): void
}

function isAdmitted(record: FlowRecord): boolean {
  return record.limitsHeld === record.uses.length && record.queuedFor === undefined
}

/** The slot state that the row of an instance with limits shows. */
export function slotStateOf(record: FlowRecord): "taken" | "queuedForSlot" | "none" {
  return record.queuedFor !== undefined ? "queuedForSlot" : isAdmitted(record) ? "taken" : "none"
}

/** Whether an unowned instance needs its slots because its code continues. An instance that only receives a control message needs none. */
export function wantsSlots(status: Status, dueAt: number | undefined, hasEvents: () => boolean, now: number): boolean {
  const isDue = dueAt !== undefined && dueAt <= now
  if (status === "sleeping" || status === "waiting") return isDue || hasEvents()
  return isDue && (status === "queued" || status === "running")
}

function dequeue(record: FlowRecord): void {
  record.queuedFor = undefined
  record.queuedUntil = undefined
}
