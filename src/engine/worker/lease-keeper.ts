import { PerdureError } from "../../core/errors.ts"
import type { Host } from "../../ports/host.ts"
import type { JournalStore, Offer } from "../../ports/journal-store.ts"
import type { TimerHandle, Timers } from "./timers.ts"

const retryMs = 1_000

/**
 * Keeps the lease of one worker. A worker owns its instances for one lease after the last renewal; then other workers may claim them.
 *
 * A lease only decides who tries. No argument about safety rests on it: if two workers believe that they own an instance, the fence of the turns lets
 * one of them write, and the other one's turn is lost (see `turn-writer.ts`). A worker that stood still therefore does no harm to the journal. It may
 * run step functions a second time, so it aborts them as soon as it notices (`onLapse`).
 *
 *   start ──> renew ──(a third of the lease later; 1 s after a failure)──> renew ──> …
 *                └── more than a lease since the last renewal: `onLapse`, before the next renewal counts
 *   stop        no more renewals: the instances stay owned until the lease ends
 *   releaseAll  the store releases all instances and ends the lease, so other workers need not wait
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  #isRunning = false
  #timer: TimerHandle | undefined
  /** When the worker asked for the last renewal that the store answered. */
  #renewedAt: number | undefined

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
  }

  /** Resolves after the first renewal, also if it fails. */
  async start(): Promise<void> {
    this.#isRunning = true
    await this.#renew()
  }

  stop(): void {
    this.#isRunning = false
    this.#options.timers.clear(this.#timer)
  }

  async releaseAll(): Promise<void> {
    const { journal, worker, host } = this.#options
    try {
      await journal.release(worker, await journal.owned(worker))
      await journal.renew(worker, 0)
    } catch (error) {
      // An unreachable store must not keep the engine from closing.
      if (!PerdureError.is(error, "STORE_UNREACHABLE")) throw error
      host.log.warn("instances could not be released; other workers continue with them when the lease is over", { error })
    }
  }

  async #renew(): Promise<void> {
    const { journal, host, worker, leaseMs, offers, timers, onLapse } = this.#options
    // The lease counts from the time of the request at the earliest: an answer that arrives late proves nothing about the time before it.
    const askedAt = host.now()
    let nextMs = leaseMs / 3
    try {
      await journal.renew(worker, leaseMs, offers)
      if (this.#hasLapsed(host.now())) await onLapse()
      this.#renewedAt = askedAt
    } catch (error) {
      nextMs = Math.min(nextMs, retryMs)
      host.log.error("the lease could not be renewed; trying again", { error })
    }
    if (this.#isRunning) this.#timer = timers.after(nextMs, () => void this.#renew())
  }

  /**
   * The process or its machine may have stood still, or the store may not have answered for so long. A store with a clock of its own may also have set
   * that clock back: so the distance counts in both directions.
   */
  #hasLapsed(now: number): boolean {
    return this.#renewedAt !== undefined && Math.abs(now - this.#renewedAt) > this.#options.leaseMs
  }
}

export interface LeaseKeeperOptions {
  readonly journal: JournalStore
  readonly host: Host
  readonly timers: Timers
  readonly worker: string
  /** The workflows that this worker executes: each renewal publishes them. */
  readonly offers: readonly Offer[]
  readonly leaseMs: number
  /** The lease may have ended meanwhile, so other workers may have claimed instances. If it rejects, the next renewal calls it again. */
  readonly onLapse: () => Promise<void>
}
