import { MinHeap } from "../core/min-heap.ts"
import type { Host } from "../ports/host.ts"

/** Any number of volatile timers over one timer of the host. */
export class Timers {
  readonly #host: Host
  readonly #heap = new MinHeap<TimerHandle>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))
  #order = 0
  #armedFor = Infinity
  #disarm: (() => void) | undefined

  constructor(host: Host) {
    this.#host = host
  }

  set(at: number, fire: () => void): TimerHandle {
    const handle: TimerHandle = { at, order: this.#order++, fire }
    this.#heap.push(handle)
    if (at < this.#armedFor) this.#arm(at)
    return handle
  }

  /** A cleared timer stays in the heap until its time, without what it would have called. */
  clear(handle: TimerHandle | undefined): void {
    if (handle) handle.fire = undefined
  }

  close(): void {
    this.#disarm?.()
    while (this.#heap.pop() !== undefined);
    this.#armedFor = Infinity
  }

  #arm(at: number): void {
    this.#disarm?.()
    this.#armedFor = at
    this.#disarm = this.#host.setTimer(at, this.#fire)
  }

  readonly #fire = (): void => {
    this.#armedFor = Infinity
    const now = this.#host.now()
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) {
      if (next.fire !== undefined && next.at > now) return this.#arm(next.at)
      this.#heap.pop()
      next.fire?.()
    }
  }
}

/** One timer that is moved about. */
export class Alarm {
  readonly #timers: Timers
  readonly #fire: () => void
  #handle: TimerHandle | undefined

  constructor(timers: Timers, fire: () => void) {
    this.#timers = timers
    this.#fire = fire
  }

  /** Undefined: not at all. */
  setTo(at: number | undefined): void {
    if (this.#handle?.at === at) return
    this.#timers.clear(this.#handle)
    this.#handle = undefined
    if (at === undefined) return
    this.#handle = this.#timers.set(at, () => {
      this.#handle = undefined
      this.#fire()
    })
  }
}

export interface TimerHandle {
  readonly at: number
  readonly order: number
  fire: (() => void) | undefined
}
