import { AsyncLocalStorage } from "node:async_hooks"

/** An object in memory; one that comes back later is another. */
export interface Place {
  readonly name: string
}

/** Where code runs. */
export const inObject = new AsyncLocalStorage<Place>()

/** Time that stands still until somebody moves it, in place of the isolate's own. */
export class VirtualTime {
  static readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now }
  /** Calls what an object has set a timer for, in that object. */
  readonly #callIn: (place: Place, fn: () => void) => void
  #now: number
  #order = 0
  readonly #timers = new Map<number, VirtualTimer>()

  constructor(startAt: number, callIn: (place: Place, fn: () => void) => void) {
    this.#now = startAt
    this.#callIn = callIn
  }

  /** Until `restore`. */
  install(): void {
    Date.now = () => this.#now
    Object.assign(globalThis, {
      setTimeout: (fn: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => this.set(this.#now + ms, () => fn(...args)),
      clearTimeout: (key: number | undefined) => key !== undefined && this.#timers.delete(key),
    })
  }

  static restore(): void {
    Date.now = VirtualTime.#real.now
    Object.assign(globalThis, { setTimeout: VirtualTime.#real.setTimeout, clearTimeout: VirtualTime.#real.clearTimeout })
  }

  static realMs(ms: number): Promise<void> {
    return new Promise((resolve) => VirtualTime.#real.setTimeout(resolve, ms))
  }

  get now(): number {
    return this.#now
  }

  set(at: number, fn: () => void): number {
    const place = inObject.getStore()
    return this.#add(at, place === undefined ? fn : () => this.#callIn(place, fn), false)
  }

  /** Called in the context of whoever moves time. */
  setHere(at: number, fn: () => void): number {
    return this.#add(at, fn, true)
  }

  #add(at: number, go: () => void, isHere: boolean): number {
    const order = ++this.#order
    this.#timers.set(order, { at: Math.max(at, this.#now), order, go, isHere })
    return order
  }

  clear(key: number | undefined): void {
    if (key !== undefined) this.#timers.delete(key)
  }

  /** Those who set timers are dead. */
  drop(): void {
    for (const [key, { isHere }] of this.#timers) if (!isHere) this.#timers.delete(key)
  }

  nextAt(): number | undefined {
    return this.#next()?.at
  }

  async advanceTo(target: number, settle: () => Promise<void>): Promise<void> {
    for (;;) {
      await settle()
      const next = this.#next()
      if (next === undefined || next.at > target) break
      this.#now = Math.max(this.#now, next.at)
      this.#timers.delete(next.order)
      next.go()
    }
    this.#now = Math.max(this.#now, target)
    await settle()
  }

  #next(): VirtualTimer | undefined {
    let first: VirtualTimer | undefined
    for (const timer of this.#timers.values()) if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer
    return first
  }
}

interface VirtualTimer {
  readonly at: number
  readonly order: number
  readonly go: () => void
  readonly isHere: boolean
}
