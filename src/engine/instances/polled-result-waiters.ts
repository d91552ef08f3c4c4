import { PerdureError } from "../../core/errors.ts"
import type { Host } from "../../ports/host.ts"
import type { Hint, Store } from "../../ports/store.ts"
import { ResultWaiters } from "./result-waiters.ts"
import { FallbackPoll, type FallbackPollOptions } from "../worker/fallback-poll.ts"

/** How many instances are looked up at a time. */
const lookupsMax = 64
/** The delay after a look-up that failed. It doubles with each further failure. */
const retryMs = 50
const retryMsMax = 5_000

/**
 * Waiters for results on a store that other processes share. An instance that is not in memory here is looked up in the store, after each hint and
 * from time to time.
 */
export class PolledResultWaiters extends ResultWaiters {
  readonly #residents: ResidentLookup
  readonly #fallbackPoll: FallbackPoll

  constructor({ store, host, worker }: PolledResultWaitersOptions, pollOptions: FallbackPollOptions) {
    super(store, host, pollOptions.timers)
    this.#residents = worker
    this.#fallbackPoll = new FallbackPoll(pollOptions, () => void this.check())
  }

  protected override onWaiting(isWaiting: boolean): void {
    if (isWaiting) this.#fallbackPoll.restart()
    else this.#fallbackPoll.stop()
  }

  /** The first look-up for a waiter. If the connection breaks while the store answers, the look-up is repeated until the store answers. */
  protected override async lookUp(id: string): Promise<void> {
    let wasConnected = false
    for (let waitMs = retryMs; ; waitMs = Math.min(waitMs * 2, retryMsMax)) {
      try {
        return await super.lookUp(id)
      } catch (error) {
        const isAway = PerdureError.is(error, "STORE_UNREACHABLE")
        wasConnected ||= isAway && error.details?.["isUnknown"] === true
        if (!isAway || !wasConnected) throw error
      }
      await new Promise<void>((resolve) => this.timers.after(waitMs, resolve))
      if (!this.waiters.has(id)) return
    }
  }

  async refresh({ ends }: Hint): Promise<void> {
    if (ends !== false) await this.check(ends === true ? undefined : ends)
  }

  /** Looks up these instances, or all, that have waiters and are not in memory here. */
  async check(ids: Iterable<string> = this.waiters.keys()): Promise<void> {
    const wanted = [...new Set(ids)].filter((id) => this.waiters.has(id) && !this.#residents.isResident(id))
    for (let from = 0; from < wanted.length; from += lookupsMax) await Promise.all(wanted.slice(from, from + lookupsMax).map((id) => this.#tryLookUp(id)))
    if (this.waiters.size > 0) this.#fallbackPoll.continue()
  }

  async #tryLookUp(id: string): Promise<void> {
    try {
      await super.lookUp(id)
    } catch (error) {
      // The waiter does not fail: the next look-up may succeed.
      if (PerdureError.is(error, "NOT_FOUND")) this.fail(id, error)
      else this.host.log.error(`instance "${id}" could not be looked up; trying again`, { instance: id, error })
    }
  }
}

interface PolledResultWaitersOptions {
  readonly store: Store
  readonly host: Host
  readonly worker: ResidentLookup
}

/** Tells which instances are in memory here. */
interface ResidentLookup {
  isResident(id: string): boolean
}
