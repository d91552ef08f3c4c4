import { MinHeap } from "../../core/collections/min-heap.ts"
import { SeededRandom } from "../../core/execution/seeded-random.ts"
import { sha256 } from "../../core/values/sha256.ts"
import type { Host, Logger, Scope } from "../../ports/host.ts"
import { SafeLogger } from "../safe-logger.ts"
import { silentLogger } from "../silent-logger.ts"
import { SteadyClock } from "../steady-clock.ts"

/** A host for tests with virtual time and seeded randomness. Time stands still until the test advances it. */
export class SimulatedHost implements Host {
  readonly log: Logger
  readonly #timers = new MinHeap<SimulatedTimer>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order))
  readonly #random: SeededRandom
  readonly #scopes = scopeStorage()
  readonly #clock: SteadyClock
  #wall: number
  #monotonic = 0
  #order = 0

  constructor(options: { readonly startAt?: number; readonly seed?: string; readonly log?: Logger } = {}) {
    this.#wall = options.startAt ?? 1_767_225_600_000
    this.#clock = new SteadyClock(
      () => this.#wall,
      () => this.#monotonic,
    )
    this.#random = new SeededRandom(options.seed ?? "perdure")
    this.log = options.log ? new SafeLogger(options.log) : silentLogger
  }

  now(): number {
    return this.#clock.now()
  }

  aheadMs(): number {
    return this.#clock.aheadMs()
  }

  monotonicMs(): number {
    return this.#monotonic
  }

  /** Lets time pass as if the process were frozen: no timer fires until time is advanced again. */
  freeze(ms: number): void {
    this.#wall += ms
    this.#monotonic += ms
  }

  /** Sets the wall clock forward or back. No time passes. */
  setWallClock(byMs: number): void {
    this.#wall += byMs
  }

  randomBytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.#random.next() * 256))
  }

  sha256(text: string): string {
    return sha256(text)
  }

  quiesce(then: () => void): void {
    macrotask(then)
  }

  setTimer(at: number, fire: () => void): () => void {
    const timer: SimulatedTimer = { at: Math.max(at, this.now()), order: this.#order++, fire }
    this.#timers.push(timer)
    return () => {
      timer.fire = undefined
    }
  }

  runIn<S extends Scope, T>(scope: S, run: (scope: S) => T): T {
    return this.#scopes ? this.#scopes.run(scope, () => run(scope)) : run(scope)
  }

  currentScope(): Scope | undefined {
    return this.#scopes?.getStore()
  }

  onUnhandledRejection(): () => void {
    return () => undefined
  }

  /** The time of the next timer. Undefined: none is set. */
  nextTimerAt(): number | undefined {
    for (;;) {
      const timer = this.#timers.peek()
      if (timer === undefined || timer.fire) return timer?.at
      this.#timers.pop()
    }
  }

  /** Advances time and fires timers in their order. `settle` runs before each timer, so that the effects of one timer may set another. */
  async advanceTo(target: number, settle: () => Promise<void>): Promise<void> {
    for (;;) {
      await settle()
      const at = this.nextTimerAt()
      if (at === undefined || at > target) break
      this.freeze(Math.max(0, at - this.now()))
      this.#timers.pop()?.fire?.()
    }
    this.freeze(Math.max(0, target - this.now()))
    await settle()
  }
}

interface SimulatedTimer {
  readonly at: number
  readonly order: number
  fire: (() => void) | undefined
}

interface ScopeStorage {
  run<T>(scope: Scope, run: () => T): T
  getStore(): Scope | undefined
}

interface Platform {
  readonly setImmediate?: (then: () => void) => unknown
  readonly setTimeout: (then: () => void, ms: number) => unknown
  readonly process?: { getBuiltinModule?(name: string): { AsyncLocalStorage: new () => ScopeStorage } | undefined }
}

const platform = globalThis as unknown as Platform

/** The storage of scopes, if the platform has AsyncLocalStorage. Without it, the engine cannot tell user code from its callers; all else works. */
function scopeStorage(): ScopeStorage | undefined {
  const hooks = platform.process?.getBuiltinModule?.("node:async_hooks")
  return hooks && new hooks.AsyncLocalStorage()
}

export function macrotask(then: () => void): void {
  if (platform.setImmediate) platform.setImmediate(then)
  else platform.setTimeout(then, 0)
}
