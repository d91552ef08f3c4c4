import type { WorkerComponents } from "../engine-components.ts"
import { MovableTimer, type Timers } from "./timers.ts"

const firstWaitMs = 1_000

export interface FallbackPollOptions {
  readonly monotonicMs: () => number
  readonly timers: Timers
  /** A worker sweeps anyway. */
  readonly worker: { readonly active: boolean }
  /** Of a store whose hints come at once: how rarely it may look in the end. */
  readonly intervalMsMax: number | undefined
}

/** That of an engine. */
export function fallbackPollOptions({ host, worker, store, settings }: WorkerComponents): FallbackPollOptions {
  return {
    monotonicMs: () => host.monotonicMs(),
    timers: worker.timers,
    worker: worker,
    intervalMsMax: store.sweepMs === undefined ? undefined : settings.sweepMs,
  }
}

/**
 * When somebody who does not execute, and waits for something, looks without a hint. Where others tell what they do it is a net only: soon
 * for whoever has just begun to wait, then ever more rarely. It keeps the process alive, too.
 */
export class FallbackPoll {
  readonly #options: FallbackPollOptions
  readonly #timer: MovableTimer
  readonly #waitMsMax: number
  /** When it looks, by the monotonic clock. */
  #pollAt = Infinity
  #waitMs = firstWaitMs

  constructor(options: FallbackPollOptions, poll: () => void) {
    this.#options = options
    this.#waitMsMax = Math.max(firstWaitMs, options.intervalMsMax ?? 0)
    this.#timer = new MovableTimer(options.timers, () => {
      this.#pollAt = Infinity
      this.#waitMs = Math.min(this.#waitMs * 2, this.#waitMsMax)
      poll()
    })
  }

  /** Somebody new waits. */
  restart(): void {
    this.#waitMs = firstWaitMs
    this.#set(Math.min(this.#pollAt, this.#options.monotonicMs() + firstWaitMs))
  }

  /** Somebody still waits. */
  continue(): void {
    if (this.#pollAt === Infinity) this.#set(this.#options.monotonicMs() + this.#waitMs)
  }

  /** Nobody does. */
  stop(): void {
    this.#set(Infinity)
  }

  #set(at: number): void {
    this.#pollAt = this.#options.worker.active ? Infinity : at
    if (this.#pollAt === Infinity) this.#timer.clear()
    else this.#timer.setAfter(this.#pollAt - this.#options.monotonicMs())
  }
}
