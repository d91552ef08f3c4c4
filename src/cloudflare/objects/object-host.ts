import { AsyncLocalStorage } from "node:async_hooks"
import { createHash } from "node:crypto"
import type { Host, Logger, Scope } from "../../ports/host.ts"
import { SafeLogger } from "../../hosts/safe-logger.ts"
import { SteadyClock } from "../../hosts/steady-clock.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** A timer further away than this is left to the alarm, because the object may be evicted before. */
const nearMs = 60_000
/** A timer further away than this never fires. */
const neverMs = 10_000 * 24 * 60 * 60 * 1_000

/** The host port in a Durable Object: time, randomness, timers and async scopes. */
export class ObjectHost implements Host {
  readonly log: Logger
  readonly #storage: Pick<ObjectStorage, "sync">
  /** The platform has no clock but the wall clock. */
  readonly #clock: SteadyClock
  readonly #alarmTimers = new Set<AlarmTimer>()
  /** The async context of the call that opened the engine. User code must not see the context of another call that happens to wake it. */
  readonly #inContext = AsyncLocalStorage.snapshot()

  constructor(storage: Pick<ObjectStorage, "sync">, log: Logger, now: () => number = () => Date.now()) {
    this.#storage = storage
    this.log = new SafeLogger(log)
    this.#clock = new SteadyClock(now)
  }

  now(): number {
    return this.#clock.now()
  }

  aheadMs(): number {
    return this.#clock.aheadMs()
  }

  monotonicMs(): number {
    return this.now()
  }

  randomBytes(length: number): Uint8Array {
    return crypto.getRandomValues(new Uint8Array(length))
  }

  sha256(text: string): string {
    return createHash("sha256").update(text).digest("hex")
  }

  /** `sync` is the cheapest way on this platform to wait for one macrotask: a timer of 0 ms takes more than one millisecond. */
  quiesce(then: () => void): void {
    const run = () => this.#inContext(then)
    // After a failed write the platform discards the object. Until then the engine continues.
    void this.#storage.sync().then(run, run)
  }

  setTimer(at: number, fire: () => void): () => void {
    const inMs = at - this.now()
    if (inMs <= nearMs) {
      const timer = setTimeout(
        () => {
          this.#clock.reached(at)
          this.#inContext(fire)
        },
        Math.max(0, inMs),
      )
      return () => clearTimeout(timer)
    }
    if (inMs > neverMs) return () => undefined
    const timer = { at, fire }
    this.#alarmTimers.add(timer)
    return () => this.#alarmTimers.delete(timer)
  }

  /** The time of the earliest timer that is left to the alarm. */
  get nextAlarmTimerAt(): number | undefined {
    let next: number | undefined
    for (const { at } of this.#alarmTimers) if (next === undefined || at < next) next = at
    return next
  }

  /** To be called when the alarm has fired: runs the timers that are due. */
  fireAlarmTimers(): void {
    const now = this.now()
    for (const timer of [...this.#alarmTimers]) {
      if (timer.at > now) continue
      this.#alarmTimers.delete(timer)
      this.#inContext(timer.fire)
    }
  }

  runIn<S extends Scope, T>(scope: S, run: (scope: S) => T): T {
    return scopes.run(scope, run, scope)
  }

  currentScope(): Scope | undefined {
    return currentScope()
  }

  /** Registers nothing: the platform logs unhandled rejections, and the object continues. */
  onUnhandledRejection(): () => void {
    return () => undefined
  }
}

const scopes = new AsyncLocalStorage<Scope>()

export function currentScope(): Scope | undefined {
  return scopes.getStore()
}

interface AlarmTimer {
  readonly at: number
  readonly fire: () => void
}
