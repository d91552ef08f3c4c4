import type { Host } from "../../ports/host.ts"
import type { ClaimedInstance, JournalStore, Offer } from "../../ports/journal-store.ts"
import { StartShare } from "./start-share.ts"
import type { TimerHandle, Timers } from "./timers.ts"

const claimMax = 100
const retryMs = 1_000

/**
 * Decides when to ask the store for instances: at once when a hint names some, when the next one is due, and from time to
 * time in case a hint was lost. It also gives instances back until the store takes them.
 */
export class ClaimLoop {
  /** There was no room in memory when last looked, and there may be something to claim. */
  isStarved = false
  /** How many the claim that is under way may bring. */
  claiming = 0
  readonly #spec: ClaimLoopOptions
  #running = false
  #ids = new Set<string>()
  #all = false
  #claiming: Promise<void> | undefined
  #due: TimerHandle | undefined
  /** How often something was said to be due. */
  #told = 0
  #retry: TimerHandle | undefined
  #sweep: TimerHandle | undefined
  readonly #unreturned = new Set<string>()
  #returning = 0
  readonly #share: StartShare

  constructor(spec: ClaimLoopOptions) {
    this.#spec = spec
    // The name of a worker is random.
    this.#share = new StartShare(spec.worker.charCodeAt(0))
  }

  get idle(): boolean {
    return this.#claiming === undefined && this.#returning === 0
  }

  start(): void {
    this.#running = true
    this.#scheduleSweep()
    this.wake()
  }

  /** Claims nothing more; what is under way is finished. */
  async stop(): Promise<void> {
    this.#running = false
    const { timers } = this.#spec
    timers.clear(this.#due)
    timers.clear(this.#retry)
    timers.clear(this.#sweep)
    await this.#claiming
  }

  /** These instances, or any, may be there to be claimed. */
  wake(ids?: readonly string[]): void {
    if (!this.#running) return
    if (ids) for (const id of ids) this.#ids.add(id)
    else this.#all = true
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined
      if (this.#running && (this.#all || this.#ids.size > 0)) this.wake([])
    })
  }

  /** Something that nobody owns is due then. */
  dueAt(at: number): void {
    this.#told++
    if (!this.#running || (this.#due?.fire && this.#due.at <= at)) return
    const { timers } = this.#spec
    timers.clear(this.#due)
    this.#due = timers.set(at, () => {
      this.#due = undefined
      this.wake()
    })
  }

  /** Gives instances back, so that whoever can goes on with them. */
  giveBack(ids: readonly string[]): void {
    for (const id of ids) this.#unreturned.add(id)
    void this.#return()
  }

  async #return(): Promise<void> {
    const { journal, worker, host, isHeld } = this.#spec
    // What is in memory again meanwhile is to stay.
    const ids = [...this.#unreturned].filter((id) => !isHeld(id))
    this.#unreturned.clear()
    if (ids.length === 0) return
    this.#returning++
    try {
      await journal.release(worker, ids)
      this.wake()
    } catch (error) {
      host.log.error("instances could not be given back; trying again", { error, instances: ids.length })
      for (const id of ids) this.#unreturned.add(id)
      this.#returnLater()
    } finally {
      this.#returning--
    }
  }

  #returnLater(): void {
    if (!this.#running) return
    this.#spec.timers.after(retryMs, () => void this.#return())
  }

  async #claim(): Promise<void> {
    const { journal, host, worker, leaseMs, offers, timers } = this.#spec
    try {
      for (;;) {
        // While there was no room, others than those that are named now may have come, and may go before them.
        const all = this.#all || this.isStarved
        const ids = [...this.#ids]
        if (!this.#running || (!all && ids.length === 0)) break
        const limit = Math.min(claimMax, this.#spec.makeRoom())
        if (limit === 0) {
          // Whoever leaves memory, or comes to rest there, wakes us again; what was named is then found among all.
          this.#ids.clear()
          this.#all = false
          this.isStarved = true
          return
        }
        this.#all = false
        this.isStarved = false
        this.#ids = new Set(ids.slice(claimMax))
        this.claiming = limit
        const startsMin = this.#share.of(limit)
        const claimed = await journal.claim({ worker, offers, limit, startsMin, leaseMs, ...(all ? undefined : { ids: ids.slice(0, claimMax) }) })
        this.#share.give(claimed.length)
        if (all && claimed.length === limit) this.#all = true
        const loading = claimed.length > 0 ? this.#spec.onClaimed(claimed) : undefined
        this.claiming = 0
        await loading
      }
      const told = this.#told
      const dueAt = await journal.nextDueAt(offers)
      // What was due when last looked, and is claimed by now, need not be looked for.
      if (told === this.#told) {
        timers.clear(this.#due)
        this.#due = undefined
      }
      if (dueAt !== undefined) this.dueAt(Math.max(dueAt, host.now() + 1))
    } catch (error) {
      this.claiming = 0
      host.log.error("the store did not answer a claim; trying again", { error })
      this.#claimLater()
    }
  }

  /** There is one such timer, however many claims fail meanwhile; it asks for all that they asked for. */
  #claimLater(): void {
    this.#ids.clear()
    this.#all = false
    if (!this.#running || this.#retry?.fire) return
    this.#retry = this.#spec.timers.after(retryMs, () => {
      // It may have been answered all the same: then there are instances that are ours, and nobody has them.
      this.#spec.onSweep()
      this.wake()
    })
  }

  #scheduleSweep(): void {
    if (!this.#running) return
    const { timers, sweepMs } = this.#spec
    this.#sweep = timers.after(sweepMs, () => {
      this.#spec.onSweep()
      this.wake()
      this.#scheduleSweep()
    })
  }
}

export interface ClaimLoopOptions {
  readonly journal: JournalStore
  readonly host: Host
  readonly timers: Timers
  readonly worker: string
  readonly offers: readonly Offer[]
  readonly leaseMs: number
  /** How often to look without a hint. */
  readonly sweepMs: number
  /** It is in memory, or on its way there. */
  readonly isHeld: (id: string) => boolean
  /** How many more instances fit in memory, if need be after idle ones have left it. */
  readonly makeRoom: () => number
  readonly onClaimed: (claimed: readonly ClaimedInstance[]) => Promise<void>
  readonly onSweep: () => void
}
