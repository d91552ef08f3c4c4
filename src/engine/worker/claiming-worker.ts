import { PerdureError } from "../../core/errors.ts"
import type { InstanceRow, Message } from "../../ports/journal-store.ts"
import { GroupCommitter } from "./group-committer.ts"
import { ClaimLoop } from "./claim-loop.ts"
import { LeaseKeeper } from "./lease-keeper.ts"
import { drain, whenTurnsWritten } from "./shutdown-drain.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import { KnownWorkflows } from "../instances/known-workflows.ts"
import { MessageBatcher } from "./message-batcher.ts"
import { ResidentInstances } from "./resident-instances.ts"
import { StartThrottle } from "./start-throttle.ts"
import { MovableTimer } from "./timers.ts"
import { Worker, type WorkerSpec } from "./worker.ts"

const unreadMax = 1_000
const storeRetryMs = 1_000
const compareMs = 250

/** A worker among others, on a store with any number of instances: claims what it has room for, under a lease. */
export class ClaimingWorker extends Worker {
  readonly committer: GroupCommitter
  readonly messages: MessageBatcher
  readonly residents: ResidentInstances
  readonly startThrottle: StartThrottle
  readonly knownWorkflows: KnownWorkflows
  /** It is time to look whether a hint was lost. */
  onSweep: () => void = () => undefined
  /** Another worker has this instance now. */
  onTaken: (id: string) => void = () => undefined
  readonly #claimLoop: ClaimLoop
  readonly #leaseKeeper: LeaseKeeper
  /** By the monotonic clock. */
  #comparedAt = -Infinity
  /** How many new starts may begin before the busy instances are counted again. */
  #startsLeft = 0
  /** Ours in the store, but not in memory, when last looked. */
  #ownedNotResident: ReadonlySet<string> = new Set()
  readonly #nextRefresh: MovableTimer

  constructor(spec: WorkerSpec) {
    super(spec)
    const { store, host, registry, settings } = spec
    const { journal, batchesMax } = store
    const schedule = () => this.macrotaskQueue.schedule()
    this.committer = new GroupCommitter(journal, schedule, host.log, (id) => this.isRemote(id), batchesMax)
    this.messages = new MessageBatcher(store, host, this.timers, (runner, error) => this.onLost(runner, error))
    this.residents = new ResidentInstances(settings, () => this.#claimLoop.claimingMax + this.loading.size)
    this.startThrottle = new StartThrottle(this.macrotaskQueue, this.committer)
    this.knownWorkflows = new KnownWorkflows(store.directory, registry, host)
    this.#nextRefresh = new MovableTimer(this.timers, () => this.onSweep())
    const common = { journal, host, timers: this.timers, worker: this.worker, offers: registry.offers, leaseMs: settings.leaseMs }
    this.#leaseKeeper = new LeaseKeeper({ ...common, onLapse: () => this.#discardTaken() })
    this.#claimLoop = new ClaimLoop({
      ...common,
      sweepMs: settings.sweepMs,
      isResidentOrLoading: (id) => this.isResident(id) || this.loading.has(id),
      makeRoom: () => this.#makeRoom(),
      onClaimed: (claimed) => this.load(claimed),
      onSweep: () => this.#sweep(),
    })
  }

  requestClaim(ids?: readonly string[]): void {
    this.#claimLoop.requestClaim(ids)
  }

  requestClaimAt(at: number): void {
    this.#claimLoop.requestClaimAt(at)
  }

  release(ids: readonly string[]): void {
    this.#claimLoop.release(ids)
  }

  get isOutOfRoom(): boolean {
    return this.#claimLoop.isOutOfRoom
  }

  /** Where only so many steps run at a time, no more begin than would be claimed: the others would wait for their steps in front of what wakes up. */
  protected override mayStartInMemory(): boolean {
    if (this.isOutOfRoom) return false
    if (this.settings.concurrentStepsMax === Infinity) return true
    if (this.#startsLeft === 0) this.#startsLeft = this.residents.claimAllowance
    if (this.#startsLeft === 0) return false
    this.#startsLeft--
    return true
  }

  onAtRest(): void {
    this.#claimLoop.isOutOfRoom = false
    this.#claimLoop.requestClaim()
  }

  async isExecuted({ id, owner, status }: InstanceRow): Promise<boolean> {
    // One that is running and has no owner may be left over from a worker that died: whoever loads it records the crash.
    if (this.isResident(id) || status === "running") return true
    if (owner === undefined) return false
    if (owner === this.worker) return true
    if (this.store.hasWorker?.() === false) return false
    const now = this.host.now()
    return (await this.store.directory.workers()).some(({ worker, until }) => worker === owner && until > now)
  }

  /** Nothing is under way but attempts and timers. */
  get idle(): boolean {
    return this.macrotaskQueue.idle && this.committer.idle && this.messages.idle && this.#claimLoop.idle
  }

  /** The store has not answered a claim, or a release, yet. */
  get isClaiming(): boolean {
    return !this.#claimLoop.idle
  }

  protected async startClaims(): Promise<void> {
    await this.#leaseKeeper.start()
    if (!this.isStopped) this.#claimLoop.start()
  }

  /** Drains: attempts may finish, then what is in memory is given back in good order. */
  async stop(): Promise<void> {
    this.stopClaims()
    try {
      await this.#stopClaiming()
      this.draining = true
      this.stepSlots?.close()
      const wasActive = this.active
      if (wasActive) await drain(this)
      this.active = false
      this.dropAll(new PerdureError("ENGINE_CLOSED", "the engine is closing"))
      await whenTurnsWritten(this)
      // Not only what was in memory: also what waits to be given back.
      if (wasActive) await this.#leaseKeeper.releaseAll()
    } finally {
      this.timers.close()
    }
  }

  async #stopClaiming(): Promise<void> {
    this.#leaseKeeper.stop()
    await this.#claimLoop.stop()
  }

  override kill(): void {
    void this.#stopClaiming()
    super.kill()
  }

  /** The store is gone: begins nothing more. What still goes to the store is refused there, so that whoever waits for it is told. */
  abort(reason: PerdureError): void {
    void this.#stopClaiming()
    this.stopClaims()
    this.active = false
    this.dropAll(reason)
    this.timers.close()
  }

  /** The store heard a message with the hint of it. True: it is taken in here. */
  receivePushed(message: Message): boolean {
    const runner = this.residents.get(message.instance)
    return runner !== undefined && this.messages.receivePushed(runner, message)
  }

  /** Another process may have written something: looks at all that it can have changed here. */
  async refresh(): Promise<void> {
    if (!this.active) return
    this.#claimLoop.requestClaim()
    try {
      for (const id of await this.store.journal.unread(this.worker, unreadMax)) {
        const runner = this.residents.get(id)
        if (runner) this.messages.read(runner)
      }
      await this.#compareOwned()
    } catch (error) {
      this.host.log.error("messages could not be looked up; trying again", { error })
      this.#nextRefresh.setAfter(storeRetryMs)
    }
  }

  override onLost(runner: InstanceRunner, error?: unknown): void {
    super.onLost(runner, error)
    if (error === undefined) this.onTaken(runner.id)
  }

  protected override discard(runner: InstanceRunner, reason?: unknown): boolean {
    const wasFull = this.residents.room === 0
    const wasResident = super.discard(runner, reason)
    if (wasResident && (wasFull || this.isOutOfRoom)) this.#claimLoop.requestClaim()
    return wasResident
  }

  /** In case a hint was lost; and whoever has been idle for long leaves. */
  #sweep(): void {
    this.onSweep()
    for (const runner of this.residents.evictionCandidates(this.host.now(), 0)) this.onIdle(runner)
  }

  #makeRoom(): number {
    const { claimAllowance } = this.residents
    if (claimAllowance > 0 && this.residents.room === 0)
      for (const runner of this.residents.evictionCandidates(this.host.now(), Math.ceil(this.settings.residentMax / 10))) this.onIdle(runner)
    return Math.min(claimAllowance, this.residents.room)
  }

  /**
   * The lease may have been over for a while. Instances that other workers have claimed meanwhile leave memory, which aborts the signals of their
   * steps. Then callers who wait for results in this process look again. An instance whose turn is being written is compared after the write.
   */
  async #discardTaken(): Promise<void> {
    if (this.residents.size > 0) {
      const settled = this.#settledRunners()
      const owned = await this.#readOwned()
      this.#discardMissing(settled, owned, new PerdureError("ENGINE_CLOSED", "another worker has the instance: this one stood still for longer than its lease"))
      this.#nextRefresh.setAfter(compareMs)
    }
    this.onSweep()
  }

  /**
   * Brings memory in line with what the store has as ours. What it does not have somebody else wrote: it was terminated or
   * restarted from another process. What is not in memory was claimed or started by a call that was never answered.
   */
  async #compareOwned(): Promise<void> {
    const now = this.host.monotonicMs()
    const leftMs = this.#comparedAt + compareMs - now
    if (leftMs > 0) return this.#nextRefresh.setAfter(leftMs)
    this.#comparedAt = now
    const settled = this.#settledRunners()
    const owned = await this.#readOwned()
    this.#discardMissing(settled, owned, new PerdureError("INSTANCE_ENDED", "it was terminated or restarted"))
    const notResident = [...owned].filter((id) => !this.residents.get(id))
    // What is only being loaded is there at the next look.
    const orphans = notResident.filter((id) => this.#ownedNotResident.has(id))
    this.#ownedNotResident = new Set(notResident)
    if (orphans.length > 0) this.#claimLoop.release(orphans)
    if (notResident.length > orphans.length) this.#nextRefresh.setAfter(compareMs)
  }

  /** The instances in memory of which no turn is being written. */
  #settledRunners(): readonly InstanceRunner[] {
    return [...this.residents.values()].filter((runner) => runner.isSettledInStore)
  }

  async #readOwned(): Promise<ReadonlySet<string>> {
    return new Set(await this.store.journal.owned(this.worker))
  }

  /** `held`: the instances that were settled before the store was asked which instances this worker owns. The worker may have got others since. */
  #discardMissing(settled: readonly InstanceRunner[], owned: ReadonlySet<string>, reason: PerdureError): void {
    for (const runner of settled) if (!owned.has(runner.id) && runner.isSettledInStore) this.discard(runner, reason)
  }
}
