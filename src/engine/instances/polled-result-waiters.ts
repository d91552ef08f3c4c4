import { PerdureError } from "../../core/errors.ts"
import type { Host } from "../../ports/host.ts"
import type { Hint, Store } from "../../ports/store.ts"
import { ResultWaiters } from "./result-waiters.ts"
import { FallbackPoll, type FallbackPollOptions } from "../worker/fallback-poll.ts"

/** So many at a time are asked for. */
const looksMax = 64
/** After a look that failed; after each further one twice as long. */
const againMs = 50
const againMsMax = 5_000

/** The same where others execute instances as well: what is not ours is found out by asking the store, when it tells of something, or after a while. */
export class PolledResultWaiters extends ResultWaiters {
  readonly #ours: ResidentLookup
  readonly #fallbackPoll: FallbackPoll

  constructor({ store, host, worker }: PolledResultWaitersOptions, pollOptions: FallbackPollOptions) {
    super(store, host, pollOptions.timers)
    this.#ours = worker
    this.#fallbackPoll = new FallbackPoll(pollOptions, () => void this.check())
  }

  protected override onWaiting(isSomebody: boolean): void {
    if (isSomebody) this.#fallbackPoll.restart()
    else this.#fallbackPoll.stop()
  }

  /** The first look for somebody. Where a connection broke on the way to a store that was there a moment ago, there are others, until one is answered. */
  protected override async lookUp(id: string): Promise<void> {
    let wasThere = false
    for (let waitMs = againMs; ; waitMs = Math.min(waitMs * 2, againMsMax)) {
      try {
        return await super.lookUp(id)
      } catch (error) {
        const isAway = PerdureError.is(error, "STORE_UNREACHABLE")
        wasThere ||= isAway && error.details?.["isUnknown"] === true
        if (!isAway || !wasThere) throw error
      }
      await new Promise<void>((resolve) => this.timers.after(waitMs, resolve))
      if (!this.waiters.has(id)) return
    }
  }

  async refresh({ ends }: Hint): Promise<void> {
    if (ends !== false) await this.check(ends === true ? undefined : ends)
  }

  /** Something may have changed in the store: asks for all of these, or of all, that somebody waits for and that is not ours. */
  async check(ids: Iterable<string> = this.waiters.keys()): Promise<void> {
    const wanted = [...new Set(ids)].filter((id) => this.waiters.has(id) && !this.#ours.isResident(id))
    for (let from = 0; from < wanted.length; from += looksMax) await Promise.all(wanted.slice(from, from + looksMax).map((id) => this.#lookSafely(id)))
    if (this.waiters.size > 0) this.#fallbackPoll.continue()
  }

  async #lookSafely(id: string): Promise<void> {
    try {
      await super.lookUp(id)
    } catch (error) {
      // Whoever waits did not ask for this look: the next one may succeed.
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

/** What is executed here. */
interface ResidentLookup {
  isResident(id: string): boolean
}
