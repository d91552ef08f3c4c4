import { AsyncLocalStorage } from "node:async_hooks"
import { createHash } from "node:crypto"
import type { Host, Logger, Scope } from "../../ports/host.ts"
import { SafeLogger } from "../../hosts/safe-logger.ts"
import { SteadyClock } from "../../hosts/steady-clock.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** What is further away than this is left to the alarm: the object may leave memory until then. */
const nearMs = 60_000
/** What is further away than this is not meant to come. */
const neverMs = 10_000 * 24 * 60 * 60 * 1_000

/** Time, randomness and life from a Durable Object. */
export class ObjectHost implements Host {
  readonly log: Logger
  readonly #storage: Pick<ObjectStorage, "sync">
  /** The only clock of the platform is the wall clock. */
  readonly #clock: SteadyClock
  readonly #alarmTimers = new Set<FarTimer>()
  /** The async context of the call that opened the engine. User code must not see the context of a call that happens to wake it. */
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

  /** Of all that drains the queue of microtasks here, this costs least: a timer of 0 ms takes more than one. */
  quiesce(then: () => void): void {
    const run = () => this.#inContext(then)
    // Where writing has failed the object is about to be thrown away; until then it goes on as if.
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

  /** When the alarm is to wake what no timer does. */
  get nextAlarmTimerAt(): number | undefined {
    let next: number | undefined
    for (const { at } of this.#alarmTimers) if (next === undefined || at < next) next = at
    return next
  }

  /** The alarm went off. */
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

  /** The platform writes them to its log, and lives on. */
  onUnhandledRejection(): () => void {
    return () => undefined
  }
}

const scopes = new AsyncLocalStorage<Scope>()

export function currentScope(): Scope | undefined {
  return scopes.getStore()
}

interface FarTimer {
  readonly at: number
  readonly fire: () => void
}
