import type { BareParts } from "./engine-parts.ts"
import { Alarm, type Timers } from "./timers.ts"

const soonMs = 1_000

export interface RecheckSpec {
  readonly now: () => number
  readonly timers: Timers
  /** A worker sweeps anyway. */
  readonly ours: { readonly active: boolean }
  /** Of a store whose hints come at once: how rarely it may look in the end. */
  readonly rarelyMs: number | undefined
}

/** That of an engine. */
export function recheckOf({ host, worker, store, settings }: BareParts): RecheckSpec {
  return { now: () => host.now(), timers: worker.timers, ours: worker, rarelyMs: store.sweepMs === undefined ? undefined : settings.sweepMs }
}

/**
 * When somebody who does not execute, and waits for something, looks without a hint. Where others tell what they do it is a net only: soon
 * for whoever has just begun to wait, then ever more rarely. It keeps the process alive, too.
 */
export class Recheck {
  readonly #spec: RecheckSpec
  readonly #alarm: Alarm
  readonly #mostMs: number
  #at = Infinity
  #waitMs = soonMs

  constructor(spec: RecheckSpec, look: () => void) {
    this.#spec = spec
    this.#mostMs = Math.max(soonMs, spec.rarelyMs ?? 0)
    this.#alarm = new Alarm(spec.timers, () => {
      this.#at = Infinity
      this.#waitMs = Math.min(this.#waitMs * 2, this.#mostMs)
      look()
    })
  }

  /** Somebody new waits. */
  soon(): void {
    this.#waitMs = soonMs
    this.#set(Math.min(this.#at, this.#spec.now() + soonMs))
  }

  /** Somebody still waits. */
  later(): void {
    if (this.#at === Infinity) this.#set(this.#spec.now() + this.#waitMs)
  }

  /** Nobody does. */
  never(): void {
    this.#set(Infinity)
  }

  #set(at: number): void {
    this.#at = this.#spec.ours.active ? Infinity : at
    this.#alarm.setTo(this.#at === Infinity ? undefined : this.#at)
  }
}
