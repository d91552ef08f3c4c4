import type { WorkerComponents } from "../engine-components.ts"
import { MovableTimer, type Timers } from "./timers.ts"

const firstWaitMs = 1_000

export interface FallbackPollOptions {
  readonly monotonicMs: () => number
  readonly timers: Timers
  /** An active worker sweeps, so no poll is needed beside it. */
  readonly worker: { readonly active: boolean }
  /** The longest interval between two polls, on a store that sends hints. Undefined: the store sends none, so every poll comes after one second. */
  readonly intervalMsMax: number | undefined
}

/** The options for the waiters of an engine. */
export function fallbackPollOptions({ host, worker, store, settings }: WorkerComponents): FallbackPollOptions {
  return {
    monotonicMs: () => host.monotonicMs(),
    timers: worker.timers,
    worker: worker,
    intervalMsMax: store.sweepMs === undefined ? undefined : settings.sweepMs,
  }
}

/**
 * Polls the store for waiters of a client: callers that wait for a result, an update or a change in a process that does not execute. Hints make them
 * quick, and the poll makes up for lost hints. The first poll comes one second after somebody begins to wait, then the interval doubles up to
 * `intervalMsMax`. The timer also keeps the process alive while somebody waits.
 */
export class FallbackPoll {
  readonly #options: FallbackPollOptions
  readonly #timer: MovableTimer
  readonly #waitMsMax: number
  /** When the next poll is due, by the monotonic clock. */
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

  /** A new waiter has come: begins with the shortest interval again. */
  restart(): void {
    this.#waitMs = firstWaitMs
    this.#set(Math.min(this.#pollAt, this.#options.monotonicMs() + firstWaitMs))
  }

  /** After a poll, somebody still waits: polls again after the next interval. */
  continue(): void {
    if (this.#pollAt === Infinity) this.#set(this.#options.monotonicMs() + this.#waitMs)
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#set(Infinity)
  }

  #set(at: number): void {
    this.#pollAt = this.#options.worker.active ? Infinity : at
    if (this.#pollAt === Infinity) this.#timer.clear()
    else this.#timer.setAfter(this.#pollAt - this.#options.monotonicMs())
  }
}
