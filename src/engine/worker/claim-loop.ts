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
  isOutOfRoom = false
  /** How many the claim that is under way may bring. */
  claimingMax = 0
  readonly #options: ClaimLoopOptions
  #isRunning = false
  #requestedIds = new Set<string>()
  #isAnyRequested = false
  #claiming: Promise<void> | undefined
  #dueTimer: TimerHandle | undefined
  /** How often something was said to be due. */
  #dueTimeChanges = 0
  #retryTimer: TimerHandle | undefined
  #sweepTimer: TimerHandle | undefined
  readonly #unreleased = new Set<string>()
  #releases = 0
  readonly #startShare: StartShare

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    // The name of a worker is random.
    this.#startShare = new StartShare(options.worker.charCodeAt(0))
  }

  get idle(): boolean {
    return this.#claiming === undefined && this.#releases === 0
  }

  start(): void {
    this.#isRunning = true
    this.#scheduleSweep()
    this.requestClaim()
  }

  /** Claims nothing more; what is under way is finished. */
  async stop(): Promise<void> {
    this.#isRunning = false
    const { timers } = this.#options
    timers.clear(this.#dueTimer)
    timers.clear(this.#retryTimer)
    timers.clear(this.#sweepTimer)
    await this.#claiming
  }

  /** These instances, or any, may be there to be claimed. */
  requestClaim(ids?: readonly string[]): void {
    if (!this.#isRunning) return
    if (ids) for (const id of ids) this.#requestedIds.add(id)
    else this.#isAnyRequested = true
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined
      if (this.#isRunning && (this.#isAnyRequested || this.#requestedIds.size > 0)) this.requestClaim([])
    })
  }

  /** Something that nobody owns is due then. */
  requestClaimAt(at: number): void {
    this.#dueTimeChanges++
    if (!this.#isRunning || (this.#dueTimer?.fire && this.#dueTimer.at <= at)) return
    const { timers } = this.#options
    timers.clear(this.#dueTimer)
    this.#dueTimer = timers.set(at, () => {
      this.#dueTimer = undefined
      this.requestClaim()
    })
  }

  /** Gives instances back, so that whoever can goes on with them. */
  release(ids: readonly string[]): void {
    for (const id of ids) this.#unreleased.add(id)
    void this.#releaseNow()
  }

  async #releaseNow(): Promise<void> {
    const { journal, worker, host, isResidentOrLoading } = this.#options
    // What is in memory again meanwhile is to stay.
    const ids = [...this.#unreleased].filter((id) => !isResidentOrLoading(id))
    this.#unreleased.clear()
    if (ids.length === 0) return
    this.#releases++
    try {
      await journal.release(worker, ids)
      this.requestClaim()
    } catch (error) {
      host.log.error("instances could not be given back; trying again", { error, instances: ids.length })
      for (const id of ids) this.#unreleased.add(id)
      this.#releaseLater()
    } finally {
      this.#releases--
    }
  }

  #releaseLater(): void {
    if (!this.#isRunning) return
    this.#options.timers.after(retryMs, () => void this.#releaseNow())
  }

  async #claim(): Promise<void> {
    const { journal, host, worker, leaseMs, offers, timers } = this.#options
    try {
      for (;;) {
        // While there was no room, others than those that are named now may have come, and may go before them.
        const claimsAny = this.#isAnyRequested || this.isOutOfRoom
        const ids = [...this.#requestedIds]
        if (!this.#isRunning || (!claimsAny && ids.length === 0)) break
        const limit = Math.min(claimMax, this.#options.makeRoom())
        if (limit === 0) {
          // Whoever leaves memory, or comes to rest there, wakes us again; what was named is then found among all.
          this.#requestedIds.clear()
          this.#isAnyRequested = false
          this.isOutOfRoom = true
          return
        }
        this.#isAnyRequested = false
        this.isOutOfRoom = false
        this.#requestedIds = new Set(ids.slice(claimMax))
        this.claimingMax = limit
        const startsMin = this.#startShare.startsAmong(limit)
        const claimed = await journal.claim({ worker, offers, limit, startsMin, leaseMs, ...(claimsAny ? undefined : { ids: ids.slice(0, claimMax) }) })
        this.#startShare.count(claimed.length)
        if (claimsAny && claimed.length === limit) this.#isAnyRequested = true
        const loading = claimed.length > 0 ? this.#options.onClaimed(claimed) : undefined
        this.claimingMax = 0
        await loading
      }
      const dueTimeChanges = this.#dueTimeChanges
      const dueAt = await journal.nextDueAt(offers)
      // What was due when last looked, and is claimed by now, need not be looked for.
      if (dueTimeChanges === this.#dueTimeChanges) {
        timers.clear(this.#dueTimer)
        this.#dueTimer = undefined
      }
      if (dueAt !== undefined) this.requestClaimAt(Math.max(dueAt, host.now() + 1))
    } catch (error) {
      this.claimingMax = 0
      host.log.error("the store did not answer a claim; trying again", { error })
      this.#claimLater()
    }
  }

  /** There is one such timer, however many claims fail meanwhile; it asks for all that they asked for. */
  #claimLater(): void {
    this.#requestedIds.clear()
    this.#isAnyRequested = false
    if (!this.#isRunning || this.#retryTimer?.fire) return
    this.#retryTimer = this.#options.timers.after(retryMs, () => {
      // It may have been answered all the same: then there are instances that are ours, and nobody has them.
      this.#options.onSweep()
      this.requestClaim()
    })
  }

  #scheduleSweep(): void {
    if (!this.#isRunning) return
    const { timers, sweepMs } = this.#options
    this.#sweepTimer = timers.after(sweepMs, () => {
      this.#options.onSweep()
      this.requestClaim()
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
  readonly isResidentOrLoading: (id: string) => boolean
  /** How many more instances fit in memory, if need be after idle ones have left it. */
  readonly makeRoom: () => number
  readonly onClaimed: (claimed: readonly ClaimedInstance[]) => Promise<void>
  readonly onSweep: () => void
}
