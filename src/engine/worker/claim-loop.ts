import type { Host } from "../../ports/host.ts"
import type { ClaimedInstance, JournalStore, Offer } from "../../ports/journal-store.ts"
import { StartShare } from "./start-share.ts"
import type { TimerHandle, Timers } from "./timers.ts"

const claimMax = 100
const retryMs = 1_000

/**
 * The claim loop of one worker. The store has many instances, and many workers share them: this loop decides which instances the worker asks for, and when.
 * The worker loads each claimed instance, and from then on an `InstanceRunner` drives that one instance (`src/engine/runner`).
 *
 *   a hint names instances      claim these, or any
 *   an instance becomes due     claim any: the loop keeps one timer, for the earliest due time of all unowned instances
 *   memory has room again       claim any
 *   every `sweepMs`             claim any, in case a hint was lost
 *
 * One claim runs at a time. Requests that arrive meanwhile become the next claim. The loop also releases instances, and repeats that until the store
 * has done it. `LeaseKeeper` renews the lease under which the worker owns its instances.
 */
export class ClaimLoop {
  /** The last claim found no room in memory, and the store may have instances to claim. */
  isOutOfRoom = false
  /** The current claim returns at most this many instances. */
  claimingMax = 0
  readonly #options: ClaimLoopOptions
  #isRunning = false
  #requestedIds = new Set<string>()
  #isAnyRequested = false
  #claiming: Promise<void> | undefined
  #dueTimer: TimerHandle | undefined
  /** Counts the calls of `requestClaimAt`, to notice a call that arrives while the loop reads the next due time. */
  #dueTimeChanges = 0
  #retryTimer: TimerHandle | undefined
  #sweepTimer: TimerHandle | undefined
  readonly #unreleased = new Set<string>()
  #releases = 0
  readonly #startShare: StartShare

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    // A worker's name is random, so workers begin to count at different places.
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

  /** Starts no further claim, and resolves when the current claim is finished. */
  async stop(): Promise<void> {
    this.#isRunning = false
    const { timers } = this.#options
    timers.clear(this.#dueTimer)
    timers.clear(this.#retryTimer)
    timers.clear(this.#sweepTimer)
    await this.#claiming
  }

  /** These instances may be unowned, or, without `ids`, any instance. */
  requestClaim(ids?: readonly string[]): void {
    if (!this.#isRunning) return
    if (ids) for (const id of ids) this.#requestedIds.add(id)
    else this.#isAnyRequested = true
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined
      if (this.#isRunning && (this.#isAnyRequested || this.#requestedIds.size > 0)) this.requestClaim([])
    })
  }

  /** An unowned instance is due at this time. */
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

  /** Gives up the ownership of instances, so that any worker with room can claim them. */
  release(ids: readonly string[]): void {
    for (const id of ids) this.#unreleased.add(id)
    void this.#releaseNow()
  }

  async #releaseNow(): Promise<void> {
    const { journal, worker, host, isResidentOrLoading } = this.#options
    // The worker may have loaded an instance again in the meantime. It keeps that instance.
    const ids = [...this.#unreleased].filter((id) => !isResidentOrLoading(id))
    this.#unreleased.clear()
    if (ids.length === 0) return
    this.#releases++
    try {
      await journal.release(worker, ids)
      this.requestClaim()
    } catch (error) {
      host.log.error("instances could not be released; trying again", { error, instances: ids.length })
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
        // While there was no room, the loop dropped requests. Instances of these requests may go before the ones that are named now.
        const claimsAny = this.#isAnyRequested || this.isOutOfRoom
        const ids = [...this.#requestedIds]
        if (!this.#isRunning || (!claimsAny && ids.length === 0)) break
        const limit = Math.min(claimMax, this.#options.makeRoom())
        if (limit === 0) {
          // The worker requests a claim when an instance leaves memory or comes to rest there. That claim takes any instance, also the ones named now.
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
      // The old due time may belong to an instance that is claimed by now. A due time that was announced during the read stays.
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

  /** However many claims fail, one retry timer is set. Its claim takes any instance, so the loop can forget the requested ids. */
  #claimLater(): void {
    this.#requestedIds.clear()
    this.#isAnyRequested = false
    if (!this.#isRunning || this.#retryTimer?.fire) return
    this.#retryTimer = this.#options.timers.after(retryMs, () => {
      // The store may have executed the claim although its answer was lost. The sweep finds instances that this worker owns and has not loaded.
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
  /** How often the loop claims without a hint. */
  readonly sweepMs: number

  readonly isResidentOrLoading: (id: string) => boolean
  /** Evicts idle instances if necessary, and says how many more instances fit in memory. */
  readonly makeRoom: () => number
  readonly onClaimed: (claimed: readonly ClaimedInstance[]) => Promise<void>
  readonly onSweep: () => void
}
