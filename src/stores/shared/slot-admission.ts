import { keptAtRest, unlimited } from "../../core/workflow/flow-options.ts"
import { isTerminal, type Status } from "../../core/journal/status.ts"
import type { LimitUse } from "../../ports/flow-control.ts"
import type { RowState } from "../../ports/journal-store.ts"

/**
 * Who may run, and who is next: the one algorithm of flow control, over the rows of any store that can be read and written
 * within a transaction. An instance takes its limits in order and so always has the first `held` of them; as all of a
 * workflow's instances keep to the same order, and give back from its end, no two can wait for each other.
 *
 *   concurrency  a slot for each instance that runs, at most `max`
 *   rate         one slot: whoever is next to start. It waits there for the time that the rate allows, alone, and gives the
 *                slot on as it starts. So starts are counted when they happen, and only one of a line has a time to wake up at.
 *
 * Slots that come free are given to the first of the line at once, those of wide limits before those of single keys:
 * else one that comes from a narrow line would overtake those who wait for the wide one.
 */
export class Admission<R extends FlowRecord> {
  readonly #rows: FlowRows<R>
  /** Limit keys that may have become free: those of whole limits, and those of single keys. */
  readonly #freedWide = new Set<string>()
  readonly #freedKeyed = new Set<string>()

  constructor(rows: FlowRows<R>) {
    this.#rows = rows
  }

  /** Takes all that it lacks; false: it is parked. */
  tryAdmit(record: R): boolean {
    const isComplete = !this.#yieldsToHigherPriority(record) && this.#takeMissing(record)
    this.#rows.save(record)
    this.#admitNext()
    return isComplete
  }

  /** A turn gives the instance another state. `run`: what it was in before. */
  applyState(record: R, run: number, state: RowState): void {
    const { status, phase, owner, dueAt = 0 } = state
    const isNewRun = status === "queued" && state.run !== run
    if (isNewRun) record.isStartCounted = false
    if (isTerminal(status) || status === "paused" || status === "stalled") this.#releaseFrom(record, 0)
    else if (isNewRun || (status === "queued" && dueAt > this.#rows.now())) this.#releaseFrom(record, 0)
    else if (owner === undefined && (status === "sleeping" || status === "waiting")) this.releaseSlots(record)
    else if (phase === "cancelling" && record.parkedOn !== undefined) this.#moveToFront(record)
  }

  /** It sleeps or waits, and nobody owns it. One that is parked isStillQueued in line. */
  releaseSlots(record: R): void {
    if (record.parkedOn === undefined) this.#releaseFrom(record, keptAtRest(record.uses))
  }

  /** The numbers of limits have changed, for these keys among which somebody is parked. */
  limitsChanged(limitKeys: Iterable<string>): void {
    for (const key of limitKeys) {
      const next = this.#rows.holder(key)
      // Whoever waits for the time of a rate is told another one.
      if (next?.parkedOn === key) {
        this.#rows.removeHolder(key, next)
        next.parkedUntil = undefined
        this.#rows.save(next)
      }
      this.#freedKeyed.add(key)
    }
    this.#admitNext()
  }

  /** The transaction failed: what it had under way never was. */
  reset(): void {
    this.#freedKeyed.clear()
    this.#freedWide.clear()
  }

  #releaseFrom(record: R, keep: number): void {
    const { uses } = record
    const from = Math.min(record.limitsHeld, keep)
    for (const use of uses.slice(from, record.limitsHeld)) this.#free(record, use)
    const waitsFor = record.parkedOn === undefined ? undefined : uses[record.limitsHeld]
    if (waitsFor?.kind === "rate") this.#free(record, waitsFor)
    record.limitsHeld = from
    dequeue(record)
    this.#rows.save(record)
    this.#admitNext()
  }

  #free(record: R, use: LimitUse): void {
    // The slot of a rate was given on at the start.
    if (use.kind === "rate" && record.isStartCounted) return
    this.#rows.removeHolder(use.key, record)
    if (use.isKeyed) this.#freedKeyed.add(use.key)
    else this.#freedWide.add(use.key)
  }

  /** Its time has come, but somebody of a higher priority has joined the line meanwhile. */
  #yieldsToHigherPriority(record: R): boolean {
    const { parkedOn, parkedUntil } = record
    if (parkedOn === undefined || parkedUntil === undefined || parkedUntil > this.#rows.now()) return false
    if (this.#rows.firstQueued(parkedOn)?.key === record.key) return false
    this.#rows.removeHolder(parkedOn, record)
    record.parkedUntil = undefined
    this.#freedKeyed.add(parkedOn)
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

  /** The generic cell rate algorithm: `tat` is when all that was started would have been due, had it been spread evenly. */
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
    // It stems from a slower rate: never further ahead than this one goes.
    this.#rows.setTat(key, latest)
    return latest
  }

  #countStart(record: R, use: LimitUse): void {
    const { max, perMs = 0 } = this.#rows.numbers(use)
    if (max > 0 && max < unlimited) this.#rows.setTat(use.key, Math.max(this.#tat(use.key, perMs), this.#rows.now()) + perMs / max)
    this.#free(record, use)
  }

  #enqueue(record: R, use: LimitUse, until: number | undefined): false {
    if (record.parkedOn !== use.key) {
      record.parkedOn = use.key
      record.parkedPriority = record.isCancelling ? unlimited : record.priority
      record.parkedSeq = this.#rows.nextQueueSeq()
    }
    record.parkedUntil = until
    return false
  }

  /** What is being cancelled has little time to clean up. */
  #moveToFront(record: R): void {
    record.parkedPriority = unlimited
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
      const { parkedUntil } = next
      const isComplete = this.#takeMissing(next)
      const isStillQueued = next.parkedOn === key
      if (isStillQueued && next.parkedUntil === parkedUntil) return
      this.#rows.save(next)
      if (isComplete) this.#rows.onAdmitted(next)
      else if (next.parkedUntil !== undefined) this.#rows.onStartScheduled(next)
      if (isStillQueued) return
      // It may have given on the turn of a wider rate, which goes first.
      if (this.#freedWide.size > 0) return void this.#freedKeyed.add(key)
    }
  }
}

/** What a store knows of an instance with limits. */
export interface FlowRecord {
  readonly key: number
  readonly priority: number
  readonly isCancelling: boolean
  readonly uses: readonly LimitUse[]
  /** How many of its limits it has, from the first on. */
  limitsHeld: number
  /** Its start was counted by the rates. */
  isStartCounted: boolean
  parkedOn: string | undefined
  parkedPriority: number
  parkedSeq: number
  parkedUntil: number | undefined
}

/** The rows of a store. All within one transaction. */
export interface FlowRows<R extends FlowRecord> {
  now(): number
  /** In force: as set, else as declared, else as of the instance's start. */
  numbers(use: LimitUse): { readonly max: number; readonly perMs?: number }
  slotsInUse(limitKey: string): number
  /** One of those who have its slots. */
  holder(limitKey: string): R | undefined
  addHolder(limitKey: string, record: R): void
  removeHolder(limitKey: string, record: R): void
  /** The first in line: highest priority, then longest there. */
  firstQueued(limitKey: string): R | undefined
  nextQueueSeq(): number
  tat(limitKey: string): number | undefined
  setTat(limitKey: string, tat: number): void
  save(record: R): void
  /** One that was parked has all its slots: it is due at once. */
  onAdmitted(record: R): void
  /** One that was parked has a time to start at. */
  onStartScheduled(record: R): void
}

function isAdmitted(record: FlowRecord): boolean {
  return record.limitsHeld === record.uses.length && record.parkedOn === undefined
}

/** What the row of an instance with limits says of them. */
export function slotStateOf(record: FlowRecord): "taken" | "queuedForSlot" | "none" {
  return record.parkedOn !== undefined ? "queuedForSlot" : isAdmitted(record) ? "taken" : "none"
}

/** Whether an instance that nobody owns wants to go on, and not only to be told something. */
export function wantsSlots(status: Status, dueAt: number | undefined, hasEvents: () => boolean, now: number): boolean {
  const isDue = dueAt !== undefined && dueAt <= now
  if (status === "sleeping" || status === "waiting") return isDue || hasEvents()
  return isDue && (status === "queued" || status === "running")
}

function dequeue(record: FlowRecord): void {
  record.parkedOn = undefined
  record.parkedUntil = undefined
}
