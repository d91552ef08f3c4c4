import { MinHeap } from "../../core/collections/min-heap.ts"
import { isNested } from "../../core/workflow/step-id.ts"
import { StartShare } from "../worker/start-share.ts"

/**
 * The semaphore for step functions: at most `maxConcurrentSteps` of a worker run at the same time. An attempt that finds no free slot waits. A free slot
 * goes to the waiting attempts in this order:
 *
 *   1. attempts that continue, because a nested step, sleep or wait of theirs is done
 *   2. attempts of a higher priority
 *   3. at the same priority, instances that have progressed go before new starts, but new starts have a share (`StartShare`)
 *   4. attempts that came earlier
 *
 * An attempt has no slot while it waits for a nested step, so that the nested step can have the slot. Otherwise all slots could be held by attempts that
 * wait for steps without slots.
 */
export class StepSlots {
  readonly #queue = new MinHeap<SlotRequest>(precedes)
  readonly #starts = new MinHeap<SlotRequest>(precedes)
  readonly #startShare = new StartShare()
  #free: number
  #order = 0
  #isClosed = false
  /** How many attempts may still be recorded as started. Attempts of nested steps may always start, and count as well. */
  #attemptsLeft: number
  #running = 0
  readonly #waitingToBegin = new Set<SlotRequest>()

  constructor(slots: number, attemptsMax = Infinity) {
    this.#free = slots
    this.#attemptsLeft = attemptsMax
  }

  /** Called after each release of a slot. */
  onReleased: (() => void) | undefined

  /** How many attempts have a slot. */
  get running(): number {
    return this.#running
  }

  /** How many attempts wait for their first slot. */
  get waiting(): number {
    return this.#waitingToBegin.size
  }

  /** An attempt of this step has not begun, because no slot was free. */
  isWaitingToBegin(instance: string, step: string): boolean {
    for (const { slot } of this.#waitingToBegin) if (slot.owner.instance === instance && slot.owner.step === step) return true
    return false
  }

  /** No more attempts may be recorded as started. */
  get isSpent(): boolean {
    return this.#attemptsLeft <= 0
  }

  /** Called before an attempt is recorded as started, so that no attempt is recorded that may not begin. False: the budget is used up. */
  reserve(): boolean {
    if (this.isSpent) return false
    this.#attemptsLeft--
    return true
  }

  /** `isStart`: the attempt is the first thing that its instance does. */
  newSlot(priority: number, isStart: boolean, owner: StepSlotOwner): StepSlot {
    return new StepSlot(this, priority, isStart, owner)
  }

  /** No further attempt gets its first slot. Attempts that have begun continue, and so do their nested steps. */
  close(): void {
    this.#isClosed = true
  }

  acquire(slot: StepSlot, isContinuation: boolean, grant: () => void): SlotRequest {
    const waiting: SlotRequest = {
      slot,
      priority: isContinuation ? Infinity : slot.priority,
      order: this.#order++,
      isContinuation,
      grant,
    }
    if (!isContinuation) this.#waitingToBegin.add(waiting)
    if (slot.isStart && !isContinuation) this.#starts.push(waiting)
    else this.#queue.push(waiting)
    this.#grantNext()
    return waiting
  }

  cancelWait(waiting: SlotRequest): void {
    this.#waitingToBegin.delete(waiting)
    waiting.grant = undefined
  }

  release(): void {
    this.#free++
    this.#running--
    this.#grantNext()
    this.onReleased?.()
  }

  #next(): SlotRequest | undefined {
    const begun = this.#queue.peek()
    const start = this.#starts.peek()
    if (begun === undefined || start === undefined) return this.#queue.pop() ?? this.#starts.pop()
    if (begun.priority !== start.priority) return begun.priority > start.priority ? this.#queue.pop() : this.#starts.pop()
    const isTurnOfStart = this.#startShare.startsAmong(1) > 0
    this.#startShare.count(1)
    return isTurnOfStart ? this.#starts.pop() : this.#queue.pop()
  }

  #grantNext(): void {
    while (this.#free > 0) {
      const next = this.#next()
      if (next === undefined) return
      const { grant } = next
      // After `close` an attempt that may not begin leaves the queue, but still counts as waiting.
      const isNestedStep = isNested(next.slot.owner.step)
      if (grant === undefined || (this.#isClosed && !next.isContinuation && !isNestedStep)) continue
      this.cancelWait(next)
      this.#free--
      this.#running++
      if (!next.isContinuation && isNestedStep) this.#attemptsLeft--
      grant()
    }
  }
}

/** The slot of one attempt, or its wait for a slot. */
export class StepSlot {
  readonly priority: number
  readonly isStart: boolean
  readonly owner: StepSlotOwner
  readonly #slots: StepSlots
  #isGranted = false
  #request: SlotRequest | undefined
  #then: (() => void) | undefined
  /** How many nested asks of the function are open. */
  #openAsks = 0
  #isOver = false

  constructor(slots: StepSlots, priority: number, isStart: boolean, owner: StepSlotOwner) {
    this.#slots = slots
    this.owner = owner
    this.priority = priority
    this.isStart = isStart
  }

  begin(start: () => void): void {
    this.#acquire(false, start)
  }

  /** The function has made a nested ask, so the attempt gives up its slot. */
  onNestedAsk(): void {
    if (++this.#openAsks > 1) return
    const then = this.#cancelRequest()
    this.#release()
    // The attempt was waiting for a slot to get an earlier answer. It is waiting for another ask now, so it gets that answer without a slot.
    then?.()
  }

  /** Delivers the answer to a nested ask. With the last open answer the function continues, so the attempt needs a slot first. */
  deliver(settle: () => void): void {
    if (--this.#openAsks > 0 || this.#isOver) return settle()
    this.#acquire(true, settle)
  }

  /** The attempt is over. Its function may still run, without a slot. */
  end(): void {
    this.#isOver = true
    this.#cancelRequest()
    this.#release()
  }

  #acquire(isContinuation: boolean, then: () => void): void {
    this.#then = then
    this.#request = this.#slots.acquire(this, isContinuation, () => {
      this.#isGranted = true
      then()
    })
  }

  #cancelRequest(): (() => void) | undefined {
    // A request without `grant` was granted already.
    if (this.#request?.grant === undefined) return undefined
    this.#slots.cancelWait(this.#request)
    return this.#then
  }

  #release(): void {
    if (!this.#isGranted) return
    this.#isGranted = false
    this.#slots.release()
  }
}

/** The attempt that a slot is for. */
export interface StepSlotOwner {
  readonly instance: string
  readonly step: string
}

interface SlotRequest {
  readonly slot: StepSlot
  readonly priority: number
  readonly order: number
  readonly isContinuation: boolean
  grant: (() => void) | undefined
}

function precedes(a: SlotRequest, b: SlotRequest): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.order < b.order)
}
