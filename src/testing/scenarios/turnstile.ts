import { Deferred } from "../../core/execution/deferred.ts"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"

/** A step that many instances run: it counts how many of them were inside at the same moment. */
export class Turnstile {
  readonly #inside = new Map<string, number>()
  readonly #most = new Map<string, number>()
  readonly #together: number
  readonly #full = new Map<string, Deferred>()
  passed = 0

  /** `together`: the first instances of a key wait inside until this many are inside at once. Later ones do not wait. */
  constructor(together = 1) {
    this.#together = together
  }

  /** Takes two macrotasks, so that other instances can enter meanwhile. */
  async pass(key: string): Promise<void> {
    const inside = (this.#inside.get(key) ?? 0) + 1
    this.#inside.set(key, inside)
    this.#most.set(key, Math.max(inside, this.most(key)))
    const full = this.#full.get(key) ?? new Deferred()
    this.#full.set(key, full)
    if (inside >= this.#together) full.resolve(undefined)
    await full.promise
    for (let i = 0; i < 2; i++) await new Promise<void>((resolve) => macrotask(resolve))
    this.#inside.set(key, (this.#inside.get(key) ?? 0) - 1)
    this.passed++
  }

  /** The largest number of instances that were inside at once. */
  most(key: string): number {
    return this.#most.get(key) ?? 0
  }
}
