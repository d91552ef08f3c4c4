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
  readonly #line = new MinHeap<Waiting>(goesBefore)
  readonly #starts = new MinHeap<Waiting>(goesBefore)
  readonly #share = new StartShare()
  #free: number
  #order = 0
  #isClosed = false

  /** How many attempts may still be recorded as started: those of steps inside others may always, and count. */
  #left: number
  #running = 0

  constructor(places: number, total = Infinity) {
    this.#free = places
    this.#left = total
  }

  /** Called whenever somebody has given up a place. */
  onFree: (() => void) | undefined

  /** How many have a place. */
  get running(): number {
    return this.#running
  }

  readonly #beginners = new Set<Waiting>()

  /** How many wait for their first place. */
  get waiting(): number {
    return this.#beginners.size
  }

  /** Whether an attempt of that step has not begun, for want of a place. */
  holds(instance: string, step: string): boolean {
    for (const { place } of this.#beginners) if (place.of.instance === instance && place.of.step === step) return true
    return false
  }

  /** No more attempts may be recorded as started. */
  get isSpent(): boolean {
    return this.#left <= 0
  }

  /** To be asked before an attempt is recorded as started, so that none is that could not begin. False: none may any more. */
  reserve(): boolean {
    if (this.isSpent) return false
    this.#left--
    return true
  }

  /** `isStart`: it is the first that its instance does. */
  place(priority: number, isStart: boolean, of: StepSlotOwner): StepSlot {
    return new StepSlot(this, priority, isStart, of)
  }

  /** Nobody begins any more; those that have begun go on, with what is inside them. */
  close(): void {
    this.#isClosed = true
  }

  enter(place: StepSlot, goesOn: boolean, call: () => void): Waiting {
    const waiting: Waiting = { place, priority: goesOn ? Infinity : place.priority, order: this.#order++, goesOn, call }
    if (!goesOn) this.#beginners.add(waiting)
    if (place.isStart && !goesOn) this.#starts.push(waiting)
    else this.#line.push(waiting)
    this.#callNext()
    return waiting
  }

  /** It does not wait any more. */
  drop(waiting: Waiting): void {
    this.#beginners.delete(waiting)
    waiting.call = undefined
  }

  free(): void {
    this.#free++
    this.#running--
    this.#callNext()
    this.onFree?.()
  }

  #next(): Waiting | undefined {
    const begun = this.#line.peek()
    const start = this.#starts.peek()
    if (begun === undefined || start === undefined) return this.#line.pop() ?? this.#starts.pop()
    if (begun.priority !== start.priority) return begun.priority > start.priority ? this.#line.pop() : this.#starts.pop()
    const isTurnOfStart = this.#share.startsAmong(1) > 0
    this.#share.count(1)
    return isTurnOfStart ? this.#starts.pop() : this.#line.pop()
  }

  #callNext(): void {
    while (this.#free > 0) {
      const next = this.#next()
      if (next === undefined) return
      const { call } = next
      // One that may not begin any more still counts among those that wait.
      const isInside = isNested(next.place.of.step)
      if (call === undefined || (this.#isClosed && !next.goesOn && !isInside)) continue
      this.drop(next)
      this.#free--
      this.#running++
      if (!next.goesOn && isInside) this.#left--
      call()
    }
  }
}

/** One attempt's place, or its wait for one. */
export class StepSlot {
  readonly priority: number
  readonly isStart: boolean
  readonly of: StepSlotOwner
  readonly #line: StepSlots
  #has = false
  #waiting: Waiting | undefined
  #then: (() => void) | undefined
  /** What its function has asked for inside its step and not got yet. */
  #asked = 0
  #isOver = false

  constructor(line: StepSlots, priority: number, isStart: boolean, of: StepSlotOwner) {
    this.#line = line
    this.of = of
    this.priority = priority
    this.isStart = isStart
  }

  begin(start: () => void): void {
    this.#enter(false, start)
  }

  /** Its function has asked for something inside its step. */
  ask(): void {
    if (++this.#asked > 1) return
    const told = this.#leaveLine()
    this.#give()
    // It needs no place any more to be told what it waited for.
    told?.()
  }

  /** What it asked for is there. While there is more to come it needs no place to be told. */
  answer(tell: () => void): void {
    if (--this.#asked > 0 || this.#isOver) return tell()
    this.#enter(true, tell)
  }

  /** Nobody looks at what it still does. */
  end(): void {
    this.#isOver = true
    this.#leaveLine()
    this.#give()
  }

  #enter(goesOn: boolean, then: () => void): void {
    this.#then = then
    this.#waiting = this.#line.enter(this, goesOn, () => {
      this.#has = true
      then()
    })
  }

  #leaveLine(): (() => void) | undefined {
    // Once it is called it waits no longer.
    if (this.#waiting?.call === undefined) return undefined
    this.#line.drop(this.#waiting)
    return this.#then
  }

  #give(): void {
    if (!this.#has) return
    this.#has = false
    this.#line.free()
  }
}

/** The attempt that a place is for. */
export interface StepSlotOwner {
  readonly instance: string
  readonly step: string
}

interface Waiting {
  readonly place: StepSlot
  readonly priority: number
  readonly order: number
  readonly goesOn: boolean
  call: (() => void) | undefined
}

function goesBefore(a: Waiting, b: Waiting): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.order < b.order)
}
