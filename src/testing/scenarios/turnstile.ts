import { Deferred } from "../../core/execution/deferred.ts"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"

/** A step that many go through: it counts how many were inside at the same moment. */
export class Turnstile {
  readonly #inside = new Map<string, number>()
  readonly #most = new Map<string, number>()
  readonly #together: number
  readonly #full = new Map<string, Deferred>()
  passed = 0

  /** `together`: whoever comes first waits inside until so many of its key are, once; how quickly they come is no matter. */
  constructor(together = 1) {
    this.#together = together
  }

  /** Takes two macrotasks, so that others could come in meanwhile. */
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

  /** That were ever inside at once. */
  most(key: string): number {
    return this.#most.get(key) ?? 0
  }
}
