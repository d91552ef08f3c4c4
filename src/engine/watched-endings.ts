import { PerdureError } from "../core/errors.ts"
import type { Host } from "../ports/host.ts"
import type { Hint, Store } from "../ports/store.ts"
import { Endings } from "./endings.ts"
import { Recheck, type RecheckSpec } from "./recheck.ts"

/** So many at a time are asked for. */
const looksMax = 64

/** The same where others execute instances as well: what is not ours is found out by asking the store, when it tells of something, or after a while. */
export class WatchedEndings extends Endings {
  readonly #ours: Ours
  readonly #recheck: Recheck

  constructor({ store, host, worker }: EndingsParts, recheck: RecheckSpec) {
    super(store, host, recheck.timers)
    this.#ours = worker
    this.#recheck = new Recheck(recheck, () => void this.check())
  }

  protected override onWaiting(isSomebody: boolean): void {
    if (isSomebody) this.#recheck.soon()
    else this.#recheck.never()
  }

  /** Where a connection broke on the way to a store that was there a moment ago. */
  protected override looksAgain(id: string, error: unknown): boolean {
    const isBroken = PerdureError.is(error, "STORE_UNREACHABLE") && error.details?.["isUnknown"] === true
    if (isBroken) void this.check([id])
    return isBroken
  }

  async look({ ends }: Hint): Promise<void> {
    if (ends !== false) await this.check(ends === true ? undefined : ends)
  }

  /** Something may have changed in the store: asks for all of these, or of all, that somebody waits for and that is not ours. */
  async check(ids: Iterable<string> = this.waiters.keys()): Promise<void> {
    const wanted = [...new Set(ids)].filter((id) => this.waiters.has(id) && !this.#ours.holds(id))
    for (let from = 0; from < wanted.length; from += looksMax) await Promise.all(wanted.slice(from, from + looksMax).map((id) => this.#lookSafely(id)))
    if (this.waiters.size > 0) this.#recheck.later()
  }

  async #lookSafely(id: string): Promise<void> {
    try {
      await this.lookUp(id)
    } catch (error) {
      // Whoever waits did not ask for this look: the next one may succeed.
      if (PerdureError.is(error, "NOT_FOUND")) this.fail(id, error)
      else this.host.log.error(`instance "${id}" could not be looked up; trying again`, { instance: id, error })
    }
  }
}

interface EndingsParts {
  readonly store: Store
  readonly host: Host
  readonly worker: Ours
}

/** What is executed here. */
interface Ours {
  holds(id: string): boolean
}
