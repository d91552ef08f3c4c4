import type { InstanceRow } from "../../ports/journal-store.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { ResidentSet } from "./resident-set.ts"
import { SingleInstanceCommitter } from "./single-instance-committer.ts"
import { SingleInstanceMessages } from "./single-instance-messages.ts"
import { Alarm } from "./timers.ts"
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
  readonly messageBatcher: SingleInstanceMessages
  readonly residents: ResidentSet = new OneResident()
  readonly startThrottle = undefined
  readonly known = undefined
  readonly isStarved = false
  readonly #due: Alarm
  /** How often it was told of something. */
  #told = 0
  #isClaiming = false

  constructor(spec: WorkerSpec) {
    super(spec)
    const arm = () => this.macrotaskQueue.arm()
    this.committer = new SingleInstanceCommitter(spec.store.journal, arm, spec.host.log, (id) => this.isElsewhere(id))
    this.messageBatcher = new SingleInstanceMessages(spec.store, spec.host, (runner, error) => this.onLost(runner, error))
    this.#due = new Alarm(this.timers, () => this.wake())
  }

  protected async beginClaims(): Promise<void> {
    await this.store.journal.renew(this.worker, leaseMs)
    this.wake()
  }

  wake(): void {
    this.#told++
    if (this.#isClaiming || !this.active || this.isStopped) return
    this.#isClaiming = true
    void this.#claim()
  }

  dueAt(at: number): void {
    this.#told++
    if (!this.isStopped) this.#due.setTo(at)
  }

  giveBack(ids: readonly string[]): void {
    void this.#giveBack(ids.filter((id) => !this.holds(id) && !this.loading.has(id)))
  }

  onRest(): void {}

  /** No other worker has ever been here: an owner is this one. */
  isRun({ owner }: InstanceRow): boolean {
    return owner !== undefined
  }

  async #giveBack(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    try {
      await this.store.journal.release(this.worker, ids)
      this.wake()
    } catch (error) {
      this.host.log.error("an instance could not be given back; trying again", { error })
      this.timers.after(retryMs, () => this.giveBack(ids))
    }
  }

  /** Until nothing was told meanwhile. */
  async #claim(): Promise<void> {
    const { journal } = this.store
    const { offers } = this.registry
    try {
      for (let told = -1; told !== this.#told && !this.isStopped;) {
        told = this.#told
        await this.load(await journal.claim({ worker: this.worker, offers, limit: 1, leaseMs }))
        const dueAt = await journal.nextDueAt(offers)
        if (told === this.#told) this.#due.setTo(dueAt === undefined ? undefined : Math.max(dueAt, this.host.now() + 1))
      }
    } catch (error) {
      this.host.log.error("the store did not answer a claim; trying again", { error })
      this.timers.after(retryMs, () => this.wake())
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
