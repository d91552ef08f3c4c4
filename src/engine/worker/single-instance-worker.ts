import type { InstanceRow } from "../../ports/journal-store.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { ResidentSet } from "./resident-set.ts"
import { SingleInstanceCommitter } from "./single-instance-committer.ts"
import { SingleInstanceMessages } from "./single-instance-messages.ts"
import { MovableTimer } from "./timers.ts"
import { Worker, type WorkerSpec } from "./worker.ts"

const retryMs = 1_000
/** Nobody else is there who could ask whether it lives. */
const leaseMs = 36_500 * 24 * 60 * 60 * 1_000

/**
 * The worker of a Durable Object, whose store holds one instance that nobody else can have, and that nothing is written to past its engine.
 * So there is nothing to share or to look for: it asks for the instance when it is told of it, and when it is due.
 */
export class SingleInstanceWorker extends Worker {
  readonly committer: SingleInstanceCommitter
  readonly messages: SingleInstanceMessages
  readonly residents: ResidentSet = new OneResident()
  readonly startThrottle = undefined
  readonly knownWorkflows = undefined
  readonly isOutOfRoom = false
  readonly #dueTimer: MovableTimer
  /** How often it was told of something. */
  #requests = 0
  #isClaiming = false

  constructor(spec: WorkerSpec) {
    super(spec)
    const schedule = () => this.macrotaskQueue.schedule()
    this.committer = new SingleInstanceCommitter(spec.store.journal, schedule, spec.host.log, (id) => this.isRemote(id))
    this.messages = new SingleInstanceMessages(spec.store, spec.host, (runner, error) => this.onLost(runner, error))
    this.#dueTimer = new MovableTimer(this.timers, () => this.requestClaim())
  }

  protected async startClaims(): Promise<void> {
    await this.store.journal.renew(this.worker, leaseMs)
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

  /** No other worker has ever been here: an owner is this one. */
  isExecuted({ owner }: InstanceRow): boolean {
    return owner !== undefined
  }

  async #releaseNow(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    try {
      await this.store.journal.release(this.worker, ids)
      this.requestClaim()
    } catch (error) {
      this.host.log.error("an instance could not be given back; trying again", { error })
      this.timers.after(retryMs, () => this.release(ids))
    }
  }

  /** Until nothing was told meanwhile. */
  async #claim(): Promise<void> {
    const { journal } = this.store
    const { offers } = this.registry
    try {
      for (let requests = -1; requests !== this.#requests && !this.isStopped;) {
        requests = this.#requests
        await this.load(await journal.claim({ worker: this.worker, offers, limit: 1, leaseMs }))
        const dueAt = await journal.nextDueAt(offers)
        if (requests === this.#requests) this.#dueTimer.setTo(dueAt === undefined ? undefined : Math.max(dueAt, this.host.now() + 1))
      }
    } catch (error) {
      this.host.log.error("the store did not answer a claim; trying again", { error })
      this.timers.after(retryMs, () => this.requestClaim())
    } finally {
      // At once: what is told from here on is asked for anew.
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
