import type { WorkerComponents } from "../engine-components.ts"
import { Alarm, type Timers } from "./timers.ts"

const soonMs = 1_000

export interface FallbackPollOptions {
  readonly monotonicMs: () => number
  readonly timers: Timers
  /** A worker sweeps anyway. */
  readonly ours: { readonly active: boolean }
  /** Of a store whose hints come at once: how rarely it may look in the end. */
  readonly rarelyMs: number | undefined
}

/** That of an engine. */
export function fallbackPollOptions({ host, worker, store, settings }: WorkerComponents): FallbackPollOptions {
  return { monotonicMs: () => host.monotonicMs(), timers: worker.timers, ours: worker, rarelyMs: store.sweepMs === undefined ? undefined : settings.sweepMs }
}

/**
 * When somebody who does not execute, and waits for something, looks without a hint. Where others tell what they do it is a net only: soon
 * for whoever has just begun to wait, then ever more rarely. It keeps the process alive, too.
 */
export class FallbackPoll {
  readonly #spec: FallbackPollOptions
  readonly #alarm: Alarm
  readonly #mostMs: number
  /** When it looks, by the monotonic clock. */
  #at = Infinity
  #waitMs = soonMs

  constructor(spec: FallbackPollOptions, look: () => void) {
    this.#spec = spec
    this.#mostMs = Math.max(soonMs, spec.rarelyMs ?? 0)
    this.#alarm = new Alarm(spec.timers, () => {
      this.#at = Infinity
      this.#waitMs = Math.min(this.#waitMs * 2, this.#mostMs)
      look()
    })
  }

  /** Somebody new waits. */
  restart(): void {
    this.#waitMs = soonMs
    this.#set(Math.min(this.#at, this.#spec.monotonicMs() + soonMs))
  }

  /** Somebody still waits. */
  continue(): void {
    if (this.#at === Infinity) this.#set(this.#spec.monotonicMs() + this.#waitMs)
  }

  /** Nobody does. */
  stop(): void {
    this.#set(Infinity)
  }

  #set(at: number): void {
    this.#at = this.#spec.ours.active ? Infinity : at
    if (this.#at === Infinity) this.#alarm.clear()
    else this.#alarm.setAfter(this.#at - this.#spec.monotonicMs())
  }
}
