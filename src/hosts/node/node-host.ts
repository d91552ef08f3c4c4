import { AsyncLocalStorage, AsyncResource } from "node:async_hooks"
import { createHash, randomFillSync } from "node:crypto"
import type { Host, Logger, Scope } from "../../ports/host.ts"
import { SafeLogger } from "../safe-logger.ts"
import { SteadyClock } from "../steady-clock.ts"
import { recogniseOwnFrames } from "./own-frames.ts"
import { ImmediateRow } from "./immediate-row.ts"

const timerMsMax = 2 ** 31 - 1

/** The host port on Node: time, randomness, timers and async scopes. */
export class NodeHost implements Host {
  readonly log: Logger
  /** The async context in which the engine was opened. User code sees this context, whatever call wakes the engine. */
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

  /** Random bytes from a pool, because a system call for a few bytes is expensive. */
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

  // All work of the engine starts in one of the next two methods, so user code runs in the context in which the engine was opened.
  quiesce(then: () => void, inARow = false): void {
    if (inARow) this.#row.add(then)
    else setImmediate(this.#inContext, then)
  }

  setTimer(at: number, fire: () => void): () => void {
    const timer = setTimeout(this.#inContext, Math.min(Math.max(0, at - this.now()), timerMsMax), fire)
    return () => clearTimeout(timer)
  }

  /** Enters the scope by an async resource, because `AsyncLocalStorage.run` copies the whole context both on entry and on exit. */
  runIn<S extends Scope, T>(scope: S, run: (scope: S) => T): T {
    return this.#context.runInAsyncScope(enter, undefined, scope, run) as T
  }

  currentScope(): Scope | undefined {
    return scopes.getStore()
  }

  onUnhandledRejection(listener: (scope: Scope, reason: unknown) => void): () => void {
    // The listener stays for good: a promise that user code forgot may reject after its engine is closed.
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

/** Handles unhandled rejections of user code of any engine, open or closed. For other rejections it does what Node does by default. */
function contain(reason: unknown): void {
  const scope = scopes.getStore()
  if (scope) {
    for (const listener of listeners) listener(scope, reason)
    return
  }
  if (process.listenerCount("unhandledRejection") > 1) return
  throw reason
}
