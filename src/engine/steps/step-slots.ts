import { MinHeap } from "../../core/collections/min-heap.ts"
import { isNested } from "../../core/workflow/step-id.ts"
import { StartShare } from "../worker/start-share.ts"

/**
 * The places of a worker for attempts that run at the same time. Who finds none waits in line: those that go on after what they
 * asked for inside their step, then by priority, then instances that have got on before new starts, which have a share of the places, then
 * in the order of arrival. An attempt that waits for what is inside its step
 * has no place meanwhile, so that whatever it waits for can have it.
 */
export class StepSlots {
  readonly #queue = new MinHeap<SlotRequest>(precedes)
  readonly #starts = new MinHeap<SlotRequest>(precedes)
  readonly #startShare = new StartShare()
  #free: number
  #order = 0
  #isClosed = false

  /** How many attempts may still be recorded as started: those of steps inside others may always, and count. */
  #attemptsLeft: number
  #running = 0

  constructor(slots: number, attemptsMax = Infinity) {
    this.#free = slots
    this.#attemptsLeft = attemptsMax
  }

  /** Called whenever somebody has given up a place. */
  onReleased: (() => void) | undefined

  /** How many have a place. */
  get running(): number {
    return this.#running
  }

  readonly #waitingToBegin = new Set<SlotRequest>()

  /** How many wait for their first place. */
  get waiting(): number {
    return this.#waitingToBegin.size
  }

  /** Whether an attempt of that step has not begun, for want of a place. */
  isWaitingToBegin(instance: string, step: string): boolean {
    for (const { slot } of this.#waitingToBegin) if (slot.owner.instance === instance && slot.owner.step === step) return true
    return false
  }

  /** No more attempts may be recorded as started. */
  get isSpent(): boolean {
    return this.#attemptsLeft <= 0
  }

  /** To be asked before an attempt is recorded as started, so that none is that could not begin. False: none may any more. */
  reserve(): boolean {
    if (this.isSpent) return false
    this.#attemptsLeft--
    return true
  }

  /** `isStart`: it is the first that its instance does. */
  newSlot(priority: number, isStart: boolean, owner: StepSlotOwner): StepSlot {
    return new StepSlot(this, priority, isStart, owner)
  }

  /** Nobody begins any more; those that have begun go on, with what is inside them. */
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

  /** It does not wait any more. */
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
      // One that may not begin any more still counts among those that wait.
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

/** One attempt's place, or its wait for one. */
export class StepSlot {
  readonly priority: number
  readonly isStart: boolean
  readonly owner: StepSlotOwner
  readonly #slots: StepSlots
  #isGranted = false
  #request: SlotRequest | undefined
  #then: (() => void) | undefined
  /** What its function has asked for inside its step and not got yet. */
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

  /** Its function has asked for something inside its step. */
  onNestedAsk(): void {
    if (++this.#openAsks > 1) return
    const then = this.#cancelRequest()
    this.#release()
    // It needs no place any more to be told what it waited for.
    then?.()
  }

  /** What it asked for is there. While there is more to come it needs no place to be told. */
  deliver(settle: () => void): void {
    if (--this.#openAsks > 0 || this.#isOver) return settle()
    this.#acquire(true, settle)
  }

  /** Nobody looks at what it still does. */
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
    // Once it is called it waits no longer.
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

/** The attempt that a place is for. */
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
