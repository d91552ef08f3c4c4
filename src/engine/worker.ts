import { PerdureError } from "../core/errors.ts"
import type { Entry, EntryOf } from "../core/journal.ts"
import type { AnyWorkflow } from "../core/workflow.ts"
import type { Host } from "../ports/host.ts"
import type { ClaimedInstance, NewInstance, NewMessage } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { ClientTransactions, Transactions } from "../ports/transactions.ts"
import type { Beginning } from "./beginning.ts"
import { Committer, type CommitResult } from "./committer.ts"
import { Dispatcher } from "./dispatcher.ts"
import { drained, written } from "./draining.ts"
import type { EngineFeatures, LimitRules } from "./engine-features.ts"
import { InstanceRunner } from "./instance-runner.ts"
import { loadInstance } from "./family-ties.ts"
import { Mailroom } from "./mailroom.ts"
import type { Outreach } from "./outreach.ts"
import { Pulse } from "./pulse.ts"
import { randomToken } from "./random-token.ts"
import type { WorkflowRegistry } from "./registry.ts"
import { Residency } from "./residency.ts"
import type { Runtime } from "./runtime.ts"
import type { EngineSettings } from "./settings.ts"
import type { StepLine } from "./step-line.ts"
import { Alarm, Timers } from "./timers.ts"

const unreadMax = 1_000
const storeRetryMs = 1_000
const compareMs = 250

/** The part of an engine that executes: claims instances, keeps them in memory, and lets them go. */
export class Worker implements Runtime {
  readonly worker: string
  readonly host: Host
  readonly settings: EngineSettings
  readonly pulse: Pulse
  readonly committer: Committer
  readonly transactions: Transactions | undefined
  readonly clientTransactions: ClientTransactions | undefined
  readonly timers: Timers
  readonly mailroom: Mailroom
  readonly residency: Residency
  readonly stepLine: StepLine | undefined
  /** Given later: whoever starts instances needs the worker first. */
  outreach: Outreach | undefined
  readonly #store: Store
  readonly #registry: WorkflowRegistry
  readonly #dispatcher: Dispatcher
  readonly features: EngineFeatures
  readonly #limits: LimitRules | undefined
  readonly #onEnd: WorkerListener["onEnd"]
  readonly #onSweep: WorkerListener["onSweep"]
  readonly onAnswered: WorkerListener["onAnswered"]
  readonly onRunOver: WorkerListener["onRunOver"]
  #turns = 0
  #active = false
  #comparedAt = 0
  /** Ours in the store, but not in memory, when last looked. */
  #absent: ReadonlySet<string> = new Set()
  readonly #nextLook: Alarm
  /** Claimed, and on their way into memory. */
  readonly #loading = new Set<string>()
  /** Claimed while something of their name was in memory: when that leaves, they are given back, and loaded. */
  readonly #passedOver = new Set<string>()
  #stopped = false
  #stopNews: () => void = () => undefined
  draining = false

  constructor(
    store: Store,
    host: Host,
    registry: WorkflowRegistry,
    settings: EngineSettings,
    features: EngineFeatures,
    { onEnd, onSweep, onAnswered, onRunOver }: WorkerListener,
  ) {
    this.#store = store
    this.host = host
    this.settings = settings
    this.features = features
    this.#registry = registry
    this.#onEnd = onEnd
    this.#onSweep = onSweep
    this.onAnswered = onAnswered
    this.onRunOver = onRunOver
    // Short, as it is in the name of every turn; 50 random bits tell any number of workers apart.
    this.worker = randomToken(host, 10)
    this.timers = new Timers(host)
    this.#limits = features.flow?.desk(store.flow, registry, host, this.timers)
    this.#nextLook = new Alarm(this.timers, onSweep)
    this.pulse = new Pulse(host, () => this.committer.flush())
    this.committer = new Committer(
      store.journal,
      () => this.pulse.arm(),
      host.log,
      (id) => this.#isElsewhere(id),
      store.batchesMax,
    )
    this.transactions = store.transactions
    this.clientTransactions = store.clientTransactions
    this.residency = new Residency(settings)
    const { concurrentStepsMax, budget } = settings
    if (concurrentStepsMax < Infinity || budget) this.stepLine = features.flow?.stepLine(concurrentStepsMax, budget?.stepsMax)
    this.mailroom = new Mailroom(store, host, this.timers, (runner, error) => this.onLost(runner, error))
    this.#dispatcher = new Dispatcher({
      journal: store.journal,
      host,
      timers: this.timers,
      worker: this.worker,
      offers: registry.offers,
      leaseMs: settings.leaseMs,
      sweepMs: settings.sweepMs,
      isHeld: (id) => this.holds(id) || this.#loading.has(id),
      makeRoom: () => this.#makeRoom(),
      onClaimed: (claimed) => this.#load(claimed),
      onSweep: () => this.#sweep(),
    })
  }

  get engine(): object {
    return this
  }

  onSent(messages: readonly NewMessage[]): void {
    this.hint(messages.map(({ instance }) => instance))
  }

  /** It executes; else it only writes for clients. */
  get active(): boolean {
    return this.#active
  }

  /** It is in memory here. */
  holds(id: string): boolean {
    return this.residency.get(id) !== undefined
  }

  /** Nothing is under way but attempts and timers. */
  get idle(): boolean {
    return this.pulse.idle && this.committer.idle && this.mailroom.idle && this.#dispatcher.idle
  }

  /** The store has not answered a claim, or a release, yet. */
  get isClaiming(): boolean {
    return !this.#dispatcher.idle
  }

  async start(): Promise<void> {
    if (this.#stopped) return
    this.#active = true
    this.#stopNews = this.#store.flow.onAdmitted((ids) => this.#dispatcher.wake(ids))
    await this.#limits?.declare()
    if (!this.#stopped) await this.#dispatcher.start()
  }

  /** Drains: attempts may finish, then what is in memory is given back in good order. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#stopNews()
    try {
      await this.#dispatcher.stop()
      this.draining = true
      this.stepLine?.close()
      const wasActive = this.#active
      if (wasActive) await drained(this)
      this.#active = false
      this.#dropAll(new PerdureError("ENGINE_CLOSED", "the engine is closing"))
      await written(this)
      // Not only what was in memory: also what waits to be given back.
      if (wasActive) await this.#dispatcher.leave()
    } finally {
      this.timers.close()
    }
  }

  /** Drops all live state without a word to the store, as the death of the process would. */
  kill(): void {
    this.#stopped = true
    this.#stopNews()
    void this.#dispatcher.stop()
    this.committer.abandon()
    this.#active = false
    this.#dropAll(new PerdureError("ENGINE_CLOSED", "the engine died"))
    this.timers.close()
  }

  #dropAll(reason: PerdureError): void {
    for (const runner of [...this.residency.values()]) {
      this.residency.remove(runner)
      runner.drop(reason)
    }
  }

  /** Starts a new instance in memory, if it is to be executed here and there is room. */
  begin(workflow: AnyWorkflow, instance: NewInstance, beginning: Beginning, onCreated: (result: CommitResult) => void): boolean {
    if (!this.#active || this.residency.room === 0 || this.residency.get(instance.id) || this.#isElsewhere(instance.id)) return false
    if (!this.#registry.executes(workflow, instance.queue)) return false
    const runner = new InstanceRunner(this, workflow, instance)
    runner.begin(beginning, (result) => {
      // A start that is not committed leaves nothing behind here; if it is in the store all the same, it is loaded from there.
      if (result !== "committed") {
        this.#discard(runner, new PerdureError("ID_EXISTS", `instance "${instance.id}" exists`))
        this.#dispatcher.giveBack([instance.id])
      }
      onCreated(result)
    })
    // Only now: where its input cannot be encoded, nothing has begun.
    this.residency.add(runner)
    return true
  }

  #isElsewhere(id: string): boolean {
    return this.#store.isElsewhere?.(id) === true
  }

  /** Others wait for room. */
  get isStarved(): boolean {
    return this.#dispatcher.isStarved
  }

  onRest(): void {
    this.#dispatcher.isStarved = false
    this.#dispatcher.wake()
  }

  /** Something was written for these instances, here or elsewhere. */
  hint(ids: readonly string[]): void {
    const others = ids.filter((id) => {
      const runner = this.residency.get(id)
      if (runner) this.mailroom.read(runner)
      return !runner
    })
    if (others.length > 0) this.#dispatcher.wake(others)
  }

  /** Another process may have written something: looks at all that it can have changed here. */
  async look(): Promise<void> {
    if (!this.#active) return
    this.#dispatcher.wake()
    try {
      for (const id of await this.#store.journal.unread(this.worker, unreadMax)) {
        const runner = this.residency.get(id)
        if (runner) this.mailroom.read(runner)
      }
      await this.#compareOwned()
    } catch (error) {
      this.host.log.error("messages could not be looked up; trying again", { error })
      this.#nextLook.setTo(this.host.now() + storeRetryMs)
    }
  }

  /** Takes an instance out of memory because somebody else is to write its next turn. */
  evict(id: string, reason: unknown): boolean {
    const runner = this.residency.get(id)
    if (!runner) return false
    this.#discard(runner, reason)
    return true
  }

  /** An instance that nobody owns was written: it is there to be claimed, now or when it is due. */
  announce(id: string, dueAt: number | undefined): void {
    if (dueAt === undefined) this.hint([id])
    else this.#dispatcher.dueAt(dueAt)
  }

  /** An instance was ended by a turn that is not its runner's. */
  ended(id: string, entry: Entry): void {
    this.#onEnd(id, entry)
  }

  nextTurnId(): string {
    return `${this.worker}.${++this.#turns}`
  }

  onEnded(runner: InstanceRunner): void {
    const ended = runner.state.ended
    if (ended) this.#onEnd(runner.id, ended.entry)
  }

  onReleased(runner: InstanceRunner, dueAt: number | undefined): void {
    const { hasInputs, endings, id } = runner
    this.#discard(runner)
    if (endings.continued) this.onRunOver(id)
    const isDue = dueAt !== undefined && dueAt <= this.host.now()
    if (hasInputs || isDue) this.#dispatcher.wake([id])
    else if (dueAt !== undefined) this.#dispatcher.dueAt(dueAt)
  }

  onIdle(runner: InstanceRunner): void {
    this.#discard(runner)
    this.#dispatcher.giveBack([runner.id])
  }

  onLost(runner: InstanceRunner, error?: unknown): void {
    this.#discard(runner, error ?? new PerdureError("ENGINE_CLOSED", "another worker has the instance"))
    if (error === undefined) return this.#dispatcher.giveBack([runner.id])
    this.host.log.error(`a turn of instance "${runner.id}" failed; loading it again`, { instance: runner.id, error })
    this.timers.set(this.host.now() + storeRetryMs, () => this.#dispatcher.giveBack([runner.id]))
  }

  #discard(runner: InstanceRunner, reason?: unknown): void {
    const wasFull = this.residency.room === 0
    const wasHere = this.residency.remove(runner)
    // Also one whose place another has taken: nothing that it still does may have an effect.
    runner.drop(reason)
    if (wasHere && this.#passedOver.delete(runner.id)) this.#dispatcher.giveBack([runner.id])
    if (wasHere && (wasFull || this.#dispatcher.isStarved)) this.#dispatcher.wake()
  }

  async #load(claimed: readonly ClaimedInstance[]): Promise<void> {
    const now = this.host.now()
    const assigned: string[] = []
    await Promise.all(
      claimed.map(async ({ instance, crashed }) => {
        const workflow = this.#registry.find(instance.workflow, instance.version)
        if (!workflow) return
        const resident = this.residency.get(instance.id)
        // A start that is about to lose against it, or a turn under way, which may win.
        if (resident && !resident.isSettledInStore) return void this.#passedOver.add(instance.id)
        // It was taken away from us, and is ours again.
        if (resident) this.#discard(resident)
        const runner = new InstanceRunner(this, workflow, instance)
        this.#loading.add(instance.id)
        try {
          const loaded = await loadInstance(this.features, this.#store, instance)
          if (!this.#active) return
          const lacksLimits = this.#limits?.lacksLimits(instance, workflow) === true
          if (lacksLimits && (await this.#limits?.assign(workflow, instance, loaded.recorded[0]?.entry))) return void assigned.push(instance.id)
          // A start came meanwhile, which is about to lose.
          if (this.residency.get(instance.id)) return void this.#passedOver.add(instance.id)
          this.residency.add(runner)
          // What nobody was working on when the worker died was not its victim.
          const wasHit = crashed && (instance.status === "running" || (instance.dueAt !== undefined && instance.dueAt <= now))
          // What was pausing is paused now, and that is to be written.
          const cutOff = wasHit || instance.phase === "pausing"
          runner.load(instance, loaded, cutOff)
          this.mailroom.read(runner)
        } catch (error) {
          this.onLost(runner, error)
        } finally {
          this.#loading.delete(instance.id)
        }
      }),
    )
    if (assigned.length > 0) this.#dispatcher.giveBack(assigned)
  }

  /** In case a hint was lost; and whoever has been idle for long leaves. */
  #sweep(): void {
    this.#onSweep()
    for (const runner of this.residency.surplus(this.host.now(), 0)) this.onIdle(runner)
  }

  #makeRoom(): number {
    const { share } = this.residency
    if (share > 0 && this.residency.room === 0)
      for (const runner of this.residency.surplus(this.host.now(), Math.ceil(this.settings.residentMax / 10))) this.onIdle(runner)
    return Math.min(share, this.residency.room)
  }

  /**
   * Brings memory in line with what the store has as ours. What it does not have somebody else wrote: it was terminated or
   * restarted from another process. What is not in memory was claimed or started by a call that was never answered.
   */
  async #compareOwned(): Promise<void> {
    const now = this.host.now()
    const nextCheckAt = this.#comparedAt + compareMs
    if (now < nextCheckAt) return this.#nextLook.setTo(nextCheckAt)
    this.#comparedAt = now
    const held = [...this.residency.values()].filter((runner) => runner.isSettledInStore)
    const owned = new Set(await this.#store.journal.owned(this.worker))
    for (const runner of held)
      if (!owned.has(runner.id) && runner.isSettledInStore) this.#discard(runner, new PerdureError("INSTANCE_ENDED", "it was terminated or restarted"))
    const absent = [...owned].filter((id) => !this.residency.get(id))
    // What is only being loaded is there at the next look.
    const orphans = absent.filter((id) => this.#absent.has(id))
    this.#absent = new Set(absent)
    if (orphans.length > 0) this.#dispatcher.giveBack(orphans)
    if (absent.length > orphans.length) this.#nextLook.setTo(now + compareMs)
  }
}

export interface WorkerListener {
  /** An instance has ended. */
  readonly onEnd: (id: string, entry: Entry) => void
  /** A run is over, and another has begun. */
  readonly onRunOver: (id: string) => void
  /** An update is answered. */
  readonly onAnswered: (answer: EntryOf<"update.completed" | "update.failed">) => void
  /** It is time to look whether a hint was lost. */
  readonly onSweep: () => void
}
