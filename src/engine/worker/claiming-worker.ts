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
import { Worker, type WorkerOptions } from "./worker.ts"

const unreadMax = 1_000
const storeRetryMs = 1_000
const compareMs = 250

/**
 * A worker that shares a store with other workers. It claims as many instances as it has room for, under a lease, and it notices when the store and its
 * memory differ:
 *
 *   resident, but not owned     another process wrote the instance, or another worker claimed it: the instance leaves memory
 *   owned, but not resident     the answer to a claim or a start was lost: the instance is released, so that a worker can claim it
 */
export class ClaimingWorker extends Worker {
  readonly committer: GroupCommitter
  readonly messages: MessageBatcher
  readonly residents: ResidentInstances
  readonly startThrottle: StartThrottle
  readonly knownWorkflows: KnownWorkflows
  /** Called from time to time, and when a lease may have ended: a hint may have been lost. */
  onSweep: () => void = () => undefined
  /** Called when another worker has this instance now. */
  onTaken: (id: string) => void = () => undefined
  readonly #claimLoop: ClaimLoop
  readonly #leaseKeeper: LeaseKeeper
  /** The time of the last comparison with the store, by the monotonic clock. */
  #comparedAt = -Infinity
  /** How many new starts may begin in memory before the busy instances are counted again. */
  #startsLeft = 0
  /** The instances that this worker owned, but did not have in memory, at the last comparison. */
  #ownedNotResident: ReadonlySet<string> = new Set()
  readonly #nextRefresh: MovableTimer

  constructor(spec: WorkerOptions) {
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
    const common = { journal, host, timers: this.timers, worker: this.workerName, offers: registry.offers, leaseMs: settings.leaseMs }
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

  /**
   * With a limit of concurrent steps, no more starts begin in memory than the worker would claim. More of them would wait for step slots, ahead of
   * instances that wake up in the store.
   */
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
    // A running instance without an owner may be left over from a worker that died: the worker that loads the instance has to record the crash first.
    if (this.isResident(id) || status === "running") return true
    if (owner === undefined) return false
    if (owner === this.workerName) return true
    if (this.store.hasWorker?.() === false) return false
    const now = this.host.now()
    return (await this.store.directory.workers()).some(({ worker, until }) => worker === owner && until > now)
  }

  /** Only attempts and timers are active: no commit, no message, no claim and no run of the macrotask queue. */
  get idle(): boolean {
    return this.macrotaskQueue.idle && this.committer.idle && this.messages.idle && this.#claimLoop.idle
  }

  /** A claim or a release is waiting for the store. */
  get isClaiming(): boolean {
    return !this.#claimLoop.idle
  }

  protected async startClaims(): Promise<void> {
    await this.#leaseKeeper.start()
    if (!this.isStopped) this.#claimLoop.start()
  }

  /** Lets attempts finish, for at most `drainMs`. Then all instances leave memory, and the store releases them. */
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
      // All owned instances, not only the resident ones: some may still wait for their release.
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

  /** The store is gone: the worker begins nothing more. The store refuses writes that are still on their way, so their callers get an error. */
  abort(reason: PerdureError): void {
    void this.#stopClaiming()
    this.stopClaims()
    this.active = false
    this.dropAll(reason)
    this.timers.close()
  }

  /** The store received a message together with its hint. True: the instance is resident and takes the message in. */
  receivePushed(message: Message): boolean {
    const runner = this.residents.get(message.instance)
    return runner !== undefined && this.messages.receivePushed(runner, message)
  }

  /** Another process may have written anything: claims, reads the inboxes that have unread messages, and compares the owned instances. */
  async refresh(): Promise<void> {
    if (!this.active) return
    this.#claimLoop.requestClaim()
    try {
      for (const id of await this.store.journal.unread(this.workerName, unreadMax)) {
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

  /** Makes up for lost hints, and evicts instances that have been idle for long. */
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
   * The lease may have been over for a while. Instances that other workers have claimed in the meantime leave memory, which aborts the signals of their
   * steps. Then callers who wait for results in this process ask the store again. An instance whose turn is being written is compared after the write.
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
   * Compares memory with the instances that the store says this worker owns. A resident instance that is not owned was terminated or restarted by another
   * process. An owned instance that is not resident was claimed or started by a call whose answer was lost.
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
    // Released only if absent twice: an instance that is being loaded now is resident at the next comparison.
    const orphans = notResident.filter((id) => this.#ownedNotResident.has(id))
    this.#ownedNotResident = new Set(notResident)
    if (orphans.length > 0) this.#claimLoop.release(orphans)
    if (notResident.length > orphans.length) this.#nextRefresh.setAfter(compareMs)
  }

  /** The resident instances of which no turn is being written. */
  #settledRunners(): readonly InstanceRunner[] {
    return [...this.residents.values()].filter((runner) => runner.isSettledInStore)
  }

  async #readOwned(): Promise<ReadonlySet<string>> {
    return new Set(await this.store.journal.owned(this.workerName))
  }

  /** `settled`: the instances that had no turn in flight before the store was asked which instances this worker owns. The worker may have claimed more instances since then. */
  #discardMissing(settled: readonly InstanceRunner[], owned: ReadonlySet<string>, reason: PerdureError): void {
    for (const runner of settled) if (!owned.has(runner.id) && runner.isSettledInStore) this.discard(runner, reason)
  }
}
