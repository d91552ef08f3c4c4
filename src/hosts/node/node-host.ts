import { AsyncLocalStorage, AsyncResource } from "node:async_hooks"
import { createHash, randomFillSync } from "node:crypto"
import type { Host, Logger, Scope } from "../../ports/host.ts"
import { SafeLogger } from "../safe-logger.ts"
import { SteadyClock } from "../steady-clock.ts"
import { recogniseOwnFrames } from "./own-frames.ts"
import { ImmediateRow } from "./immediate-row.ts"

const timerMsMax = 2 ** 31 - 1

/** Time, randomness and life from Node. */
export class NodeHost implements Host {
  readonly log: Logger
  /** The async context in which the engine was opened: user code sees it, whoever wakes the engine. */
  readonly #context = new AsyncResource("Perdure")
  readonly #inContext: (run: () => void) => void = AsyncLocalStorage.snapshot()
  readonly #row = new ImmediateRow(this.#inContext)
  readonly #pool = new Uint8Array(4_096)
  #poolUsed = this.#pool.length
  readonly #clock: SteadyClock

  constructor(
    log: Logger,
    clock = new SteadyClock(
      () => Date.now(),
      () => performance.now(),
    ),
  ) {
    this.log = new SafeLogger(log)
    this.#clock = clock
    recogniseOwnFrames()
  }

  now(): number {
    return this.#clock.now()
  }

  aheadMs(): number {
    return this.#clock.aheadMs()
  }

  monotonicMs(): number {
    return performance.now()
  }

  /** From a pool: a call to the system for a few bytes costs more than all that they are needed for. */
  randomBytes(length: number): Uint8Array {
    if (length > this.#pool.length) return randomFillSync(new Uint8Array(length))
    if (this.#poolUsed + length > this.#pool.length) {
      randomFillSync(this.#pool)
      this.#poolUsed = 0
    }
    const bytes = this.#pool.slice(this.#poolUsed, this.#poolUsed + length)
    this.#poolUsed += length
    return bytes
  }

  sha256(text: string): string {
    return createHash("sha256").update(text).digest("hex")
  }

  // All that the engine does begins in one of these two: so user code is called in the context in which the engine was opened.
  quiesce(then: () => void, inARow = false): void {
    if (inARow) this.#row.add(then)
    else setImmediate(this.#inContext, then)
  }

  setTimer(at: number, fire: () => void): () => void {
    const timer = setTimeout(this.#inContext, Math.min(Math.max(0, at - this.now()), timerMsMax), fire)
    return () => clearTimeout(timer)
  }

  /** `AsyncLocalStorage.run` copies the whole context twice, to enter and to leave. Leaving a resource only puts back what was there. */
  runIn<S extends Scope, T>(scope: S, run: (scope: S) => T): T {
    return this.#context.runInAsyncScope(enter, undefined, scope, run) as T
  }

  currentScope(): Scope | undefined {
    return scopes.getStore()
  }

  onUnhandledRejection(listener: (scope: Scope, reason: unknown) => void): () => void {
    // For good: what user code forgot may be rejected after its engine is closed, for instance because it was told to stop.
    if (!process.listeners("unhandledRejection").includes(contain)) process.on("unhandledRejection", contain)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }
}

const scopes = new AsyncLocalStorage<Scope>()
const listeners = new Set<(scope: Scope, reason: unknown) => void>()

function enter<S extends Scope>(scope: S, run: (scope: S) => unknown): unknown {
  scopes.enterWith(scope)
  return run(scope)
}

/** Contains rejections that stem from user code of an engine, closed or not; for any other, what Node would have done without us is done. */
function contain(reason: unknown): void {
  const scope = scopes.getStore()
  if (scope) {
    for (const listener of listeners) listener(scope, reason)
    return
  }
  if (process.listenerCount("unhandledRejection") > 1) return
  throw reason
}
