import type { InstanceRow } from "../../ports/journal-store.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { ResidentSet } from "./resident-set.ts"
import { SingleInstanceCommitter } from "./single-instance-committer.ts"
import { SingleInstanceMessages } from "./single-instance-messages.ts"
import { MovableTimer } from "./timers.ts"
import { Worker, type WorkerOptions } from "./worker.ts"

const retryMs = 1_000
/** A hundred years: no other worker can claim the instance, so the lease never has to be renewed. */
const leaseMs = 36_500 * 24 * 60 * 60 * 1_000

/**
 * The worker of a Durable Object. Its store holds one instance, and only this engine writes to that store. So there is no lease to renew, nothing to sweep
 * for and no room to share: the worker claims the instance when the engine has written something for it, and when it is due.
 */
export class SingleInstanceWorker extends Worker {
  readonly committer: SingleInstanceCommitter
  readonly messages: SingleInstanceMessages
  readonly residents: ResidentSet = new OneResident()
  readonly startThrottle = undefined
  readonly knownWorkflows = undefined
  readonly isOutOfRoom = false
  readonly #dueTimer: MovableTimer
  /** Counts requests, to notice one that arrives while the store answers a claim. */
  #requests = 0
  #isClaiming = false

  constructor(spec: WorkerOptions) {
    super(spec)
    const schedule = () => this.macrotaskQueue.schedule()
    this.committer = new SingleInstanceCommitter(spec.store.journal, schedule, spec.host.log, (id) => this.isRemote(id))
    this.messages = new SingleInstanceMessages(spec.store, spec.host, (runner, error) => this.onLost(runner, error))
    this.#dueTimer = new MovableTimer(this.timers, () => this.requestClaim())
  }

  protected async startClaims(): Promise<void> {
    await this.store.journal.renew(this.workerName, leaseMs)
    this.requestClaim()
  }

  requestClaim(): void {
    this.#requests++
    if (this.#isClaiming || !this.active || this.isStopped) return
    this.#isClaiming = true
    void this.#claim()
  }

  requestClaimAt(at: number): void {
    this.#requests++
    if (!this.isStopped) this.#dueTimer.setTo(at)
  }

  release(ids: readonly string[]): void {
    void this.#releaseNow(ids.filter((id) => !this.isResident(id) && !this.loading.has(id)))
  }

  onAtRest(): void {}

  /** Only this worker can be the owner. */
  isExecuted({ owner }: InstanceRow): boolean {
    return owner !== undefined
  }

  async #releaseNow(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    try {
      await this.store.journal.release(this.workerName, ids)
      this.requestClaim()
    } catch (error) {
      this.host.log.error("an instance could not be released; trying again", { error })
      this.timers.after(retryMs, () => this.release(ids))
    }
  }

  /** Claims until no request arrives during a claim. */
  async #claim(): Promise<void> {
    const { journal } = this.store
    const { offers } = this.registry
    try {
      for (let requests = -1; requests !== this.#requests && !this.isStopped;) {
        requests = this.#requests
        await this.load(await journal.claim({ worker: this.workerName, offers, limit: 1, leaseMs }))
        const dueAt = await journal.nextDueAt(offers)
        if (requests === this.#requests) this.#dueTimer.setTo(dueAt === undefined ? undefined : Math.max(dueAt, this.host.now() + 1))
      }
    } catch (error) {
      this.host.log.error("the store did not answer a claim; trying again", { error })
      this.timers.after(retryMs, () => this.requestClaim())
    } finally {
      // Cleared before the function returns: a request from here on needs a claim of its own.
      this.#isClaiming = false
    }
  }
}

class OneResident implements ResidentSet {
  readonly room = Infinity
  #runner: InstanceRunner | undefined

  get(id: string): InstanceRunner | undefined {
    return this.#runner?.id === id ? this.#runner : undefined
  }

  add(runner: InstanceRunner): void {
    this.#runner = runner
  }

  remove(runner: InstanceRunner): boolean {
    const isHere = this.#runner === runner
    if (isHere) this.#runner = undefined
    return isHere
  }

  values(): readonly InstanceRunner[] {
    return this.#runner ? [this.#runner] : []
  }
}
