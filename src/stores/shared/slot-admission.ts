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
  readonly #freed = new Set<string>()

  constructor(rows: FlowRows<R>) {
    this.#rows = rows
  }

  /** Takes all that it lacks; false: it is parked. */
  admit(record: R): boolean {
    const isIn = !this.#givesWay(record) && this.#advance(record)
    this.#rows.save(record)
    this.#letIn()
    return isIn
  }

  /** A turn gives the instance another state. `run`: what it was in before. */
  settle(record: R, run: number, state: RowState): void {
    const { status, phase, owner, dueAt = 0 } = state
    const isNewRun = status === "queued" && state.run !== run
    if (isNewRun) record.isPaid = false
    if (isTerminal(status) || status === "paused" || status === "stalled") this.#giveBack(record, 0)
    else if (isNewRun || (status === "queued" && dueAt > this.#rows.now())) this.#giveBack(record, 0)
    else if (owner === undefined && (status === "sleeping" || status === "waiting")) this.rest(record)
    else if (phase === "cancelling" && record.parkedOn !== undefined) this.#prefer(record)
  }

  /** It sleeps or waits, and nobody owns it. One that is parked stays in line. */
  rest(record: R): void {
    if (record.parkedOn === undefined) this.#giveBack(record, keptAtRest(record.uses))
  }

  /** The numbers of limits have changed, for these keys among which somebody is parked. */
  changed(limitKeys: Iterable<string>): void {
    for (const key of limitKeys) {
      const next = this.#rows.holder(key)
      // Whoever waits for the time of a rate is told another one.
      if (next?.parkedOn === key) {
        this.#rows.give(key, next)
        next.parkedUntil = undefined
        this.#rows.save(next)
      }
      this.#freed.add(key)
    }
    this.#letIn()
  }

  /** The transaction failed: what it had under way never was. */
  forget(): void {
    this.#freed.clear()
    this.#freedWide.clear()
  }

  #giveBack(record: R, keep: number): void {
    const { uses } = record
    const from = Math.min(record.held, keep)
    for (const use of uses.slice(from, record.held)) this.#free(record, use)
    const waitsFor = record.parkedOn === undefined ? undefined : uses[record.held]
    if (waitsFor?.kind === "rate") this.#free(record, waitsFor)
    record.held = from
    unpark(record)
    this.#rows.save(record)
    this.#letIn()
  }

  #free(record: R, use: LimitUse): void {
    // The slot of a rate was given on at the start.
    if (use.kind === "rate" && record.isPaid) return
    this.#rows.give(use.key, record)
    if (use.isKeyed) this.#freed.add(use.key)
    else this.#freedWide.add(use.key)
  }

  /** Its time has come, but somebody of a higher priority has joined the line meanwhile. */
  #givesWay(record: R): boolean {
    const { parkedOn, parkedUntil } = record
    if (parkedOn === undefined || parkedUntil === undefined || parkedUntil > this.#rows.now()) return false
    if (this.#rows.next(parkedOn)?.key === record.key) return false
    this.#rows.give(parkedOn, record)
    record.parkedUntil = undefined
    this.#freed.add(parkedOn)
    return true
  }

  #advance(record: R): boolean {
    const { uses } = record
    for (; record.held < uses.length; record.held++) {
      const use = uses[record.held]!
      const mayPass = use.kind === "concurrency" ? this.#takeSlot(record, use) : record.isPaid || this.#takeTurn(record, use)
      if (!mayPass) return false
    }
    if (!record.isPaid) for (const use of uses) if (use.kind === "rate") this.#pay(record, use)
    record.isPaid = true
    unpark(record)
    return true
  }

  #takeSlot(record: R, use: LimitUse): boolean {
    if (this.#rows.used(use.key) >= this.#rows.numbers(use).max) return this.#park(record, use, undefined)
    this.#rows.take(use.key, record)
    return true
  }

  #takeTurn(record: R, use: LimitUse): boolean {
    const holder = this.#rows.holder(use.key)
    if (holder !== undefined && holder.key !== record.key) return this.#park(record, use, undefined)
    if (holder === undefined) this.#rows.take(use.key, record)
    const at = this.#allowedAt(use)
    return at <= this.#rows.now() || this.#park(record, use, at === Infinity ? undefined : at)
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

  #pay(record: R, use: LimitUse): void {
    const { max, perMs = 0 } = this.#rows.numbers(use)
    if (max > 0 && max < unlimited) this.#rows.setTat(use.key, Math.max(this.#tat(use.key, perMs), this.#rows.now()) + perMs / max)
    this.#free(record, use)
  }

  #park(record: R, use: LimitUse, until: number | undefined): false {
    if (record.parkedOn !== use.key) {
      record.parkedOn = use.key
      record.parkedPriority = record.isCancelling ? unlimited : record.priority
      record.parkedSeq = this.#rows.nextSeq()
    }
    record.parkedUntil = until
    return false
  }

  /** What is being cancelled has little time to clean up. */
  #prefer(record: R): void {
    record.parkedPriority = unlimited
    this.#rows.save(record)
  }

  #letIn(): void {
    for (;;) {
      const keys = this.#freedWide.size > 0 ? this.#freedWide : this.#freed
      const key = keys.values().next().value
      if (key === undefined) return
      keys.delete(key)
      this.#letInTo(key)
    }
  }

  #letInTo(key: string): void {
    for (let next = this.#rows.next(key); next !== undefined; next = this.#rows.next(key)) {
      const { parkedUntil } = next
      const isIn = this.#advance(next)
      const stays = next.parkedOn === key
      if (stays && next.parkedUntil === parkedUntil) return
      this.#rows.save(next)
      if (isIn) this.#rows.admitted(next)
      else if (next.parkedUntil !== undefined) this.#rows.scheduled(next)
      if (stays) return
      // It may have given on the turn of a wider rate, which goes first.
      if (this.#freedWide.size > 0) return void this.#freed.add(key)
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
  held: number
  /** Its start was counted by the rates. */
  isPaid: boolean
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
  used(limitKey: string): number
  /** One of those who have its slots. */
  holder(limitKey: string): R | undefined
  take(limitKey: string, record: R): void
  give(limitKey: string, record: R): void
  /** The first in line: highest priority, then longest there. */
  next(limitKey: string): R | undefined
  nextSeq(): number
  tat(limitKey: string): number | undefined
  setTat(limitKey: string, tat: number): void
  save(record: R): void
  /** One that was parked has all its slots: it is due at once. */
  admitted(record: R): void
  /** One that was parked has a time to start at. */
  scheduled(record: R): void
}

function isAdmitted(record: FlowRecord): boolean {
  return record.held === record.uses.length && record.parkedOn === undefined
}

/** What the row of an instance with limits says of them. */
export function slotsOf(record: FlowRecord): "taken" | "parked" | "none" {
  return record.parkedOn !== undefined ? "parked" : isAdmitted(record) ? "taken" : "none"
}

/** Whether an instance that nobody owns wants to go on, and not only to be told something. */
export function wantsSlots(status: Status, dueAt: number | undefined, hasEvents: () => boolean, now: number): boolean {
  const isDue = dueAt !== undefined && dueAt <= now
  if (status === "sleeping" || status === "waiting") return isDue || hasEvents()
  return isDue && (status === "queued" || status === "running")
}

function unpark(record: FlowRecord): void {
  record.parkedOn = undefined
  record.parkedUntil = undefined
}
