import { PerdureError } from "../../core/errors.ts"
import type { Entry, EntryOf } from "../../core/journal/journal.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { Host } from "../../ports/host.ts"
import type { ClaimedInstance, InstanceRow, NewInstance, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { NewTask } from "../../ports/task-store.ts"
import type { LocalActivities } from "../tasks/local-activities.ts"
import type { ClientTransactions, Transactions } from "../../ports/transactions.ts"
import type { StartSpec } from "../runner/start-spec.ts"
import type { CommitResult, Committer } from "./group-committer.ts"
import { LimitDeclarations } from "../flow-control/limit-declarations.ts"
import { loadInstance } from "../runner/run-loader.ts"
import { InstanceRunner } from "../runner/instance-runner.ts"
import type { KnownWorkflows } from "../instances/known-workflows.ts"
import type { Messages } from "./message-batcher.ts"
import type { ChildOperations } from "../children/child-operations.ts"
import { MacrotaskQueue } from "../runner/macrotask-queue.ts"
import { randomToken } from "../random-token.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import type { ResidentSet } from "./resident-set.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import type { EngineSettings } from "../settings.ts"
import type { StartThrottle } from "./start-throttle.ts"
import { StepSlots } from "../steps/step-slots.ts"
import { Timers } from "./timers.ts"

const storeRetryMs = 1_000

/**
 * Executes instances. The worker owns everything that many resident instances share: it loads them into memory, starts new ones there, and discards
 * them when they end, rest for long or are lost. Each resident instance has an `InstanceRunner`, which drives that one instance and reports to the
 * worker through `RunnerContext`. The subclasses decide where instances come from: `ClaimingWorker` claims them from a store that workers share,
 * `SingleInstanceWorker` has the one instance of a Durable Object.
 */
export abstract class Worker implements RunnerContext {
  readonly workerName: string
  readonly host: Host
  readonly settings: EngineSettings
  readonly macrotaskQueue: MacrotaskQueue
  readonly transactions: Transactions | undefined
  readonly clientTransactions: ClientTransactions | undefined
  readonly timers: Timers
  readonly stepSlots: StepSlots | undefined
  readonly activities: LocalActivities
  /** Called when tasks are durable that this worker has written. */
  onTasksWritten: (tasks: readonly NewTask[]) => void = () => undefined
  /** Called when an instance was loaded that waits for tasks: the worker that looked after their limits of time may be gone. */
  onTasksTakenOver: () => void = () => undefined
  /** Set after construction, because `InstanceStarter` needs the worker first. */
  childOperations!: ChildOperations
  readonly onUpdateAnswered: WorkerListener["onUpdateAnswered"]
  readonly onRunEnded: WorkerListener["onRunEnded"]
  /** The worker of the current tick: instances that callers of this engine write to may be resident there. */
  tick: Worker | undefined = undefined
  /** True: the worker executes instances. False: it only writes for clients. */
  active = false
  draining = false
  openGraces = 0
  abstract readonly committer: Committer
  abstract readonly messages: Messages
  abstract readonly residents: ResidentSet
  /** Undefined if starts do not come in crowds. */
  abstract readonly startThrottle: StartThrottle | undefined
  /** Undefined if no other worker can have the code of other workflows. */
  abstract readonly knownWorkflows: KnownWorkflows | undefined
  /** Instances in the store may wait for room in memory. */
  abstract readonly isOutOfRoom: boolean
  protected readonly store: Store
  protected readonly registry: WorkflowRegistry
  protected readonly limits: LimitDeclarations
  protected isStopped = false
  /** The ids of instances that are claimed, and are being loaded. */
  protected readonly loading = new Set<string>()
  readonly #onInstanceEnded: WorkerListener["onInstanceEnded"]
  readonly #onInstanceStalled: WorkerListener["onInstanceStalled"]
  /** Claimed while another instance with the same id was resident. When that one leaves memory, these are released, and can be claimed again. */
  readonly #claimedWhileResident = new Set<string>()
  #turnCount = 0
  #stopAdmissions: () => void = () => undefined

  constructor({ store, host, registry, settings, activities, listener }: WorkerOptions) {
    this.store = store
    this.activities = activities
    this.host = host
    this.settings = settings
    this.registry = registry
    this.#onInstanceEnded = listener.onInstanceEnded
    this.#onInstanceStalled = listener.onInstanceStalled
    this.onUpdateAnswered = listener.onUpdateAnswered
    this.onRunEnded = listener.onRunEnded
    // The name is short, because the id of every turn contains it. 50 random bits distinguish any number of workers.
    this.workerName = randomToken(host, 10)
    this.timers = new Timers(host)
    this.limits = new LimitDeclarations(store.flow, registry, host, this.timers)
    this.macrotaskQueue = new MacrotaskQueue(host, () => this.committer.flush())
    this.transactions = store.transactions
    this.clientTransactions = store.clientTransactions
    const { concurrentStepsMax, budget } = settings
    if (concurrentStepsMax < Infinity || budget) this.stepSlots = new StepSlots(concurrentStepsMax, budget?.stepsMax)
  }

  /** These instances may be unowned, or, without `ids`, any instance: the worker claims them if it has room. */
  abstract requestClaim(ids?: readonly string[]): void
  /** An unowned instance is due at this time. */
  abstract requestClaimAt(at: number): void
  /** Gives up the ownership of instances, so that any worker with room can claim them. */
  abstract release(ids: readonly string[]): void
  /** An instance has come to rest, and could make room for another. */
  abstract onAtRest(): void
  /**
   * True: a worker has the instance, here or in another process. Also true for an instance that was running when its worker died: the worker that loads
   * the instance has to record the crash before anything else is written.
   */
  abstract isExecuted(row: InstanceRow): boolean | Promise<boolean>
  /** Begins to claim instances. */
  protected abstract startClaims(): Promise<void>

  get engine(): object {
    return this
  }

  onSent(messages: readonly NewMessage[]): void {
    this.hint(messages.map(({ instance }) => instance))
  }

  isResident(id: string): boolean {
    return this.residents.get(id) !== undefined
  }

  async start(): Promise<void> {
    if (this.isStopped) return
    this.active = true
    this.#stopAdmissions = this.store.flow.onAdmitted((ids) => this.requestClaim(ids))
    await this.limits.declare()
    if (!this.isStopped) await this.startClaims()
  }

  /** The worker claims nothing more. */
  protected stopClaims(): void {
    this.isStopped = true
    this.#stopAdmissions()
  }

  /** Drops all state in memory without writing to the store, as the death of the process would. */
  kill(): void {
    this.stopClaims()
    this.committer.abandon()
    this.active = false
    this.dropAll(new PerdureError("ENGINE_CLOSED", "the engine died"))
    this.timers.close()
  }

  protected dropAll(reason: PerdureError): void {
    for (const runner of [...this.residents.values()]) {
      this.residents.remove(runner)
      runner.drop(reason)
    }
  }

  /** False: other instances wait for room and go before a new start, so the start is only written, and claimed later. */
  protected mayStartInMemory(): boolean {
    return true
  }

  /**
   * Starts a new instance in memory, so that its creation and its first asks are one turn. False: its workflow is not executed here, or there is no
   * room; the caller then writes only the creation, and a worker claims the instance.
   */
  startInMemory(workflow: AnyWorkflow, instance: NewInstance, startSpec: StartSpec, onCreated: (result: CommitResult) => void): boolean {
    if (!this.active || this.residents.room === 0 || this.residents.get(instance.id) || this.isRemote(instance.id)) return false
    if (!this.registry.executes(workflow, instance.queue)) return false
    // A child goes first, because it belongs to an instance that has begun.
    if (startSpec.within === undefined && !this.mayStartInMemory()) return false
    const runner = new InstanceRunner(this, workflow, instance)
    runner.create(startSpec, (result) => {
      // A start that was not committed leaves memory. If the store has the instance after all, the release lets a worker claim it from there.
      if (result !== "committed") {
        this.discard(runner, new PerdureError("ID_EXISTS", `instance "${instance.id}" exists`))
        this.release([instance.id])
      }
      onCreated(result)
    })
    // After `create`, which throws if the input cannot be encoded: then the instance is not resident.
    this.residents.add(runner)
    return true
  }

  protected isRemote(id: string): boolean {
    return this.store.isRemote?.(id) === true
  }

  /** Somebody wrote a message for these instances, or the instances themselves. Resident ones read their inbox; the worker tries to claim the others. */
  hint(ids: readonly string[]): void {
    this.tick?.hint(ids)
    const others = ids.filter((id) => {
      const runner = this.residents.get(id)
      if (runner) this.messages.read(runner)
      return !runner
    })
    if (others.length > 0) this.requestClaim(others)
  }

  /** Removes an instance from memory, because a turn that is not its runner's is about to be written. */
  evict(id: string, reason: unknown): boolean {
    this.tick?.evict(id, reason)
    const runner = this.residents.get(id)
    if (!runner) return false
    this.discard(runner, reason)
    return true
  }

  /** An unowned instance was written: a worker can claim it now, or when it is due. */
  announce(id: string, dueAt: number | undefined): void {
    if (dueAt === undefined) this.hint([id])
    else this.requestClaimAt(dueAt)
  }

  /** A turn that is not the runner's has ended an instance. */
  announceEnd(id: string, entry: Entry): void {
    this.#onInstanceEnded(id, entry)
  }

  nextTurnId(): string {
    return `${this.workerName}.${++this.#turnCount}`
  }

  onEnded(runner: InstanceRunner): void {
    const ended = runner.state.ended
    if (ended) this.#onInstanceEnded(runner.id, ended.entry)
  }

  onStalled(runner: InstanceRunner): void {
    const { stalled } = runner.state
    if (stalled) this.#onInstanceStalled(runner.id, stalled)
  }

  onReleased(runner: InstanceRunner, dueAt: number | undefined): void {
    const { hasInputs, completion, id } = runner
    this.discard(runner)
    if (completion.hasContinued) this.onRunEnded(id)
    const isDue = dueAt !== undefined && dueAt <= this.host.now()
    if (hasInputs || isDue) this.requestClaim([id])
    else if (dueAt !== undefined) this.requestClaimAt(dueAt)
  }

  onIdle(runner: InstanceRunner): void {
    this.discard(runner)
    this.release([runner.id])
  }

  onLost(runner: InstanceRunner, error?: unknown): void {
    this.discard(runner, error ?? new PerdureError("ENGINE_CLOSED", "another worker has the instance"))
    if (error === undefined) return this.release([runner.id])
    this.host.log.error(`a turn of instance "${runner.id}" failed; loading it again`, { instance: runner.id, error })
    this.timers.after(storeRetryMs, () => this.release([runner.id]))
  }

  /** Removes a runner from memory. True: the runner was resident. */
  protected discard(runner: InstanceRunner, reason?: unknown): boolean {
    const wasResident = this.residents.remove(runner)
    // Also a runner that another one has replaced: nothing that it still does may have an effect.
    runner.drop(reason)
    if (wasResident && this.#claimedWhileResident.delete(runner.id)) this.release([runner.id])
    return wasResident
  }

  protected async load(claimed: readonly ClaimedInstance[]): Promise<void> {
    const now = this.host.now()
    const assigned: string[] = []
    await Promise.all(
      claimed.map(async ({ instance, crashed }) => {
        const workflow = this.registry.find(instance.workflow, instance.version)
        if (!workflow) return
        const resident = this.residents.get(instance.id)
        // The resident instance is a start that is about to lose against the claimed one, or has a turn in flight, which may still be committed.
        if (resident && !resident.isSettledInStore) return void this.#claimedWhileResident.add(instance.id)
        // Another worker had taken the instance, and this worker owns it again: what is in memory is out of date.
        if (resident) this.discard(resident)
        const runner = new InstanceRunner(this, workflow, instance)
        this.loading.add(instance.id)
        try {
          const loaded = await loadInstance(this.store, instance)
          if (!this.active) return
          const lacksLimits = this.limits.lacksLimits(instance, workflow)
          if (lacksLimits && (await this.limits.assign(workflow, instance, loaded.recorded[0]?.entry))) return void assigned.push(instance.id)
          // A start with this id began during the load. It is about to lose, because the store has the instance.
          if (this.residents.get(instance.id)) return void this.#claimedWhileResident.add(instance.id)
          this.residents.add(runner)
          // An instance that only waited when its worker died did not cause the death: no crash is counted for it.
          const wasHit = crashed && (instance.status === "running" || (instance.dueAt !== undefined && instance.dueAt <= now))
          // No attempt has survived, so a pausing instance is paused now. The `recovered` entry makes its row say so.
          const cutOff = wasHit || instance.phase === "pausing"
          runner.load(instance, loaded, cutOff)
          this.messages.read(runner)
          if (runner.state.hasTasks) this.onTasksTakenOver()
        } catch (error) {
          this.onLost(runner, error)
        } finally {
          this.loading.delete(instance.id)
        }
      }),
    )
    if (assigned.length > 0) this.release(assigned)
  }
}

export interface WorkerOptions {
  readonly store: Store
  readonly host: Host
  readonly registry: WorkflowRegistry
  readonly settings: EngineSettings
  readonly activities: LocalActivities
  readonly listener: WorkerListener
}

export interface WorkerListener {
  readonly onInstanceEnded: (id: string, entry: Entry) => void
  readonly onInstanceStalled: (id: string, entry: EntryOf<"stalled">) => void
  /** A run has ended, and another run of the same instance has begun. */
  readonly onRunEnded: (id: string) => void
  readonly onUpdateAnswered: (answer: EntryOf<"update.completed" | "update.failed">) => void
}
