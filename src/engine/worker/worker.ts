import { PerdureError } from "../../core/errors.ts"
import type { Entry, EntryOf } from "../../core/journal/journal.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { Host } from "../../ports/host.ts"
import type { ClaimedInstance, InstanceRow, NewInstance, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
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
 * The part of an engine that executes: keeps instances in memory, and lets them go. Where they come from is another matter: a worker among
 * others claims what it can (`ClaimingWorker`), one in a Durable Object has the only instance there is (`SingleInstanceWorker`).
 */
export abstract class Worker implements RunnerContext {
  readonly worker: string
  readonly host: Host
  readonly settings: EngineSettings
  readonly macrotaskQueue: MacrotaskQueue
  readonly transactions: Transactions | undefined
  readonly clientTransactions: ClientTransactions | undefined
  readonly timers: Timers
  readonly stepSlots: StepSlots | undefined
  /** Set after construction, because `InstanceStarter` needs the worker first. */
  childOperations!: ChildOperations
  readonly onUpdateAnswered: WorkerListener["onUpdateAnswered"]
  readonly onRunEnded: WorkerListener["onRunEnded"]
  /** The worker of a tick that is under way: it may hold what callers of this engine write for. */
  tick: Worker | undefined = undefined
  /** It executes; else it only writes for clients. */
  active = false
  draining = false
  graces = 0
  abstract readonly committer: Committer
  abstract readonly messages: Messages
  /** Who is in memory here. */
  abstract readonly residents: ResidentSet
  /** Where starts may come in crowds. */
  abstract readonly startThrottle: StartThrottle | undefined
  /** Where others may have code that is not here. */
  abstract readonly knownWorkflows: KnownWorkflows | undefined
  /** Others wait for room. */
  abstract readonly isOutOfRoom: boolean
  protected readonly store: Store
  protected readonly registry: WorkflowRegistry
  protected readonly limits: LimitDeclarations
  protected isStopped = false
  /** Claimed, and on their way into memory. */
  protected readonly loading = new Set<string>()
  readonly #onInstanceEnded: WorkerListener["onInstanceEnded"]
  readonly #onInstanceStalled: WorkerListener["onInstanceStalled"]
  /** Claimed while something of their name was in memory: when that leaves, they are given back, and loaded. */
  readonly #claimedWhileResident = new Set<string>()
  #turnCount = 0
  #stopAdmissions: () => void = () => undefined

  constructor({ store, host, registry, settings, listener }: WorkerSpec) {
    this.store = store
    this.host = host
    this.settings = settings
    this.registry = registry
    this.#onInstanceEnded = listener.onInstanceEnded
    this.#onInstanceStalled = listener.onInstanceStalled
    this.onUpdateAnswered = listener.onUpdateAnswered
    this.onRunEnded = listener.onRunEnded
    // Short, as it is in the name of every turn; 50 random bits tell any number of workers apart.
    this.worker = randomToken(host, 10)
    this.timers = new Timers(host)
    this.limits = new LimitDeclarations(store.flow, registry, host, this.timers)
    this.macrotaskQueue = new MacrotaskQueue(host, () => this.committer.flush())
    this.transactions = store.transactions
    this.clientTransactions = store.clientTransactions
    const { concurrentStepsMax, budget } = settings
    if (concurrentStepsMax < Infinity || budget) this.stepSlots = new StepSlots(concurrentStepsMax, budget?.stepsMax)
  }

  /** These instances, or any, may be there to be claimed. */
  abstract requestClaim(ids?: readonly string[]): void
  /** Something that nobody owns is due then. */
  abstract requestClaimAt(at: number): void
  /** Gives instances back, so that whoever can goes on with them. */
  abstract release(ids: readonly string[]): void
  /** One is at rest, and could make room. */
  abstract onAtRest(): void
  /** Whether a worker runs the instance, here or elsewhere; or it was in the middle of something when its worker died, and whoever loads it has to record that first. */
  abstract isExecuted(row: InstanceRow): boolean | Promise<boolean>
  /** The store may be asked for instances from now on. */
  protected abstract startClaims(): Promise<void>

  get engine(): object {
    return this
  }

  onSent(messages: readonly NewMessage[]): void {
    this.hint(messages.map(({ instance }) => instance))
  }

  /** It is in memory here. */
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

  /** Nothing more is begun. */
  protected stopClaims(): void {
    this.isStopped = true
    this.#stopAdmissions()
  }

  /** Drops all live state without a word to the store, as the death of the process would. */
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

  /** Whether a new start may begin at once, and need not wait until it is claimed: nothing that goes before it waits for room. */
  protected mayStartInMemory(): boolean {
    return true
  }

  /** Starts a new instance in memory, if it is to be executed here and there is room. */
  startInMemory(workflow: AnyWorkflow, instance: NewInstance, startSpec: StartSpec, onCreated: (result: CommitResult) => void): boolean {
    if (!this.active || this.residents.room === 0 || this.residents.get(instance.id) || this.isRemote(instance.id)) return false
    if (!this.registry.executes(workflow, instance.queue)) return false
    // A child belongs to an instance that is under way.
    if (startSpec.within === undefined && !this.mayStartInMemory()) return false
    const runner = new InstanceRunner(this, workflow, instance)
    runner.create(startSpec, (result) => {
      // A start that is not committed leaves nothing behind here; if it is in the store all the same, it is loaded from there.
      if (result !== "committed") {
        this.discard(runner, new PerdureError("ID_EXISTS", `instance "${instance.id}" exists`))
        this.release([instance.id])
      }
      onCreated(result)
    })
    // Only now: where its input cannot be encoded, nothing has begun.
    this.residents.add(runner)
    return true
  }

  protected isRemote(id: string): boolean {
    return this.store.isRemote?.(id) === true
  }

  /** Something was written for these instances, here or elsewhere. */
  hint(ids: readonly string[]): void {
    this.tick?.hint(ids)
    const others = ids.filter((id) => {
      const runner = this.residents.get(id)
      if (runner) this.messages.read(runner)
      return !runner
    })
    if (others.length > 0) this.requestClaim(others)
  }

  /** Takes an instance out of memory because somebody else is to write its next turn. */
  evict(id: string, reason: unknown): boolean {
    this.tick?.evict(id, reason)
    const runner = this.residents.get(id)
    if (!runner) return false
    this.discard(runner, reason)
    return true
  }

  /** An instance that nobody owns was written: it is there to be claimed, now or when it is due. */
  announce(id: string, dueAt: number | undefined): void {
    if (dueAt === undefined) this.hint([id])
    else this.requestClaimAt(dueAt)
  }

  /** An instance was ended by a turn that is not its runner's. */
  announceEnd(id: string, entry: Entry): void {
    this.#onInstanceEnded(id, entry)
  }

  nextTurnId(): string {
    return `${this.worker}.${++this.#turnCount}`
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

  /** True: it was here. */
  protected discard(runner: InstanceRunner, reason?: unknown): boolean {
    const wasResident = this.residents.remove(runner)
    // Also one whose place another has taken: nothing that it still does may have an effect.
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
        // A start that is about to lose against it, or a turn under way, which may win.
        if (resident && !resident.isSettledInStore) return void this.#claimedWhileResident.add(instance.id)
        // It was taken away from us, and is ours again.
        if (resident) this.discard(resident)
        const runner = new InstanceRunner(this, workflow, instance)
        this.loading.add(instance.id)
        try {
          const loaded = await loadInstance(this.store, instance)
          if (!this.active) return
          const lacksLimits = this.limits.lacksLimits(instance, workflow)
          if (lacksLimits && (await this.limits.assign(workflow, instance, loaded.recorded[0]?.entry))) return void assigned.push(instance.id)
          // A start came meanwhile, which is about to lose.
          if (this.residents.get(instance.id)) return void this.#claimedWhileResident.add(instance.id)
          this.residents.add(runner)
          // What nobody was working on when the worker died was not its victim.
          const wasHit = crashed && (instance.status === "running" || (instance.dueAt !== undefined && instance.dueAt <= now))
          // What was pausing is paused now, and that is to be written.
          const cutOff = wasHit || instance.phase === "pausing"
          runner.load(instance, loaded, cutOff)
          this.messages.read(runner)
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

/** What a worker is made with. */
export interface WorkerSpec {
  readonly store: Store
  readonly host: Host
  readonly registry: WorkflowRegistry
  readonly settings: EngineSettings
  readonly listener: WorkerListener
}

export interface WorkerListener {
  /** An instance has ended. */
  readonly onInstanceEnded: (id: string, entry: Entry) => void
  readonly onInstanceStalled: (id: string, entry: EntryOf<"stalled">) => void
  /** A run is over, and another has begun. */
  readonly onRunEnded: (id: string) => void
  /** An update is answered. */
  readonly onUpdateAnswered: (answer: EntryOf<"update.completed" | "update.failed">) => void
}
