import { AsyncLocalStorage } from "node:async_hooks"

/** An object in memory. After an eviction the object gets a new place. */
export interface Place {
  readonly name: string
}

/** The object in which the current code runs. */
export const inObject = new AsyncLocalStorage<Place>()

/** Virtual time in place of the isolate's clock and timers. It stands still until a test moves it. */
export class VirtualTime {
  static readonly #real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now }
  /** Calls the function of a timer in the object that set the timer. */
  readonly #callIn: (place: Place, fn: () => void) => void
  #now: number
  #order = 0
  readonly #timers = new Map<number, VirtualTimer>()

  constructor(startAt: number, callIn: (place: Place, fn: () => void) => void) {
    this.#now = startAt
    this.#callIn = callIn
  }

  /** Replaces the clock and the timers until `restore`. */
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

  /** Sets a timer whose function runs in the context of the code that moves time. */
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

  /** Drops all timers, because the objects that set them are dead. */
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
