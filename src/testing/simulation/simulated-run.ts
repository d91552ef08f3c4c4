import { durationMs, type Duration } from "../../core/time/duration.ts"
import { isTerminal } from "../../core/journal/status.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { Client, Handle, Why } from "../../client-api/client-api.ts"
import { countInstances } from "../../engine/instances/instance-list.ts"
import { Engine } from "../../engine/engine.ts"
import type { JournalExport } from "../../engine/diagnostics/read-only-replay.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { Callers } from "./callers.ts"
import { EffectLedger } from "./effect-ledger.ts"
import { endingOf, type Ending } from "./ending.ts"
import { PlannedFaults, type FaultPlan } from "./fault-plan.ts"
import { OwnGlobals } from "./own-globals.ts"
import { SimulatedProcess } from "./simulated-process.ts"
import { WatchedAsks } from "./watched-asks.ts"
import type { SimulatedWorld } from "./simulated-world.ts"

/** The subject of the simulation; all runs share it. */
export interface Subject {
  /** The first workflow is started; the first workflow may start the others. */
  readonly workflows: (world: SimulatedWorld) => readonly [AnyWorkflow, ...AnyWorkflow[]]
  readonly id: string
  readonly input: unknown
  readonly events: readonly { readonly type: string; readonly payload?: unknown; readonly eventId?: string; readonly after?: Duration }[]
  readonly actions: readonly { readonly after?: Duration; readonly run: (handle: Handle, client: Client) => unknown }[]
  readonly engine: EngineOptions
  readonly comparable: (result: unknown) => unknown
  readonly withinMs: number
}

/** The bounds of a run: a run that exceeds them counts as endless and is stopped. */
export interface Bounds {
  readonly timersMax: number
  readonly writesMax: number
}

export interface RunRecord {
  readonly ending: Ending | undefined
  /** The ends of the instances that the simulated instance started, by id. */
  readonly others: ReadonlyMap<string, string>
  readonly effects: EffectLedger
  readonly why: Why | undefined
  readonly unawaited: readonly string[]
  /** The impure functions that workflow code called outside steps, and the places of the calls. */
  readonly impureCalls: ReadonlyMap<string, string>
  readonly faults: readonly string[]
  readonly crashes: number
  readonly evictions: number
  readonly writes: number
  readonly timers: number
  /** The run exceeded its bounds and was stopped. */
  readonly isEndless: boolean
  readonly journal: JournalExport | undefined
}

const quietMacrotasks = 3
const macrotasksMax = 500_000
const patienceMs = 100
const farAway = "52w"

/** One run of a workflow under one plan of faults: one process at a time over one store and one virtual clock. */
export class SimulatedRun {
  readonly #subject: Subject
  readonly #plan: FaultPlan
  readonly #bounds: Bounds
  /** Steps that did not end in real time: the run does not wait for them again. */
  readonly #hanging: Set<string>
  readonly #host: SimulatedHost
  readonly #store = memory()
  readonly #faults: PlannedFaults
  readonly #effects = new EffectLedger()
  readonly #asks = new WatchedAsks()
  readonly #globals: OwnGlobals
  readonly #callers: Callers
  readonly #workflows: readonly [AnyWorkflow, ...AnyWorkflow[]]
  #process: SimulatedProcess | undefined
  #activity = 0
  /** The number of fakes that wait for virtual time. */
  #passing = 0
  #crashes = 0
  #evictions = 0
  #timers = 0

  constructor(subject: Subject, plan: FaultPlan, seed: string, bounds: Bounds, hanging: Set<string>) {
    this.#subject = subject
    this.#plan = plan
    this.#bounds = bounds
    this.#hanging = hanging
    this.#host = new SimulatedHost({ seed: "simulate" })
    this.#faults = new PlannedFaults(plan)
    this.#globals = new OwnGlobals(this.#host, seed)
    this.#callers = new Callers(this.#host, () => this.#living)
    const [first, ...others] = subject.workflows(this.#world())
    this.#workflows = [this.#asks.watch(first), ...others.map((other) => this.#asks.watch(other))]
  }

  async run(): Promise<RunRecord> {
    const restore = this.#globals.install()
    try {
      // This client has no faults: it starts the instance, reads its end, and releases what dead processes held.
      const observer = await Engine.open({ host: this.#host, store: this.#store, workflows: this.#workflows, options: this.#subject.engine, role: "client" })
      this.#reopen = () => this.#open(observer)
      this.#living = this.#reopen()
      await this.#living
      // The start is made once: a repeated start would create another incarnation, with other random numbers.
      const { id, input } = this.#subject
      await observer.start(this.#workflows[0].name, { id, input })
      this.#act()
      const isOver = await this.#untilOver(observer)
      return await this.#record(observer, isOver)
    } finally {
      restore()
      this.#process?.retire()
    }
  }

  #reopen!: () => Promise<SimulatedProcess>
  /** The living process, or the next one if none lives. */
  #living!: Promise<SimulatedProcess>

  #world(): SimulatedWorld {
    return {
      effect: (name, key) => {
        const scope = this.#host.currentScope()
        if (scope && scope.step === undefined) this.#effects.outsideSteps.add(name)
        this.#effects.effect(name, key)
      },
      now: () => this.#host.now(),
      sleep: async (duration) => {
        this.#passing++
        await this.#process?.work(durationMs(duration, "sleep"))
        this.#passing--
      },
    }
  }

  async #open(observer: Engine): Promise<SimulatedProcess> {
    const dead = this.#process
    if (dead) await observer.components.store.journal.renew(dead.worker, 0)
    const { engine } = this.#subject
    const process = new SimulatedProcess({
      host: this.#host,
      store: this.#store,
      faults: this.#faults,
      options: {
        lease: farAway,
        sweep: farAway,
        ...engine,
        interceptors: [
          (step, next) => {
            this.#effects.call(step)
            return next()
          },
          ...(engine.interceptors ?? []),
        ],
      },
      onActivity: () => this.#activity++,
      onDeath: () => this.#onDeath(),
    })
    this.#process = process
    await process.open(this.#workflows)
    return process
  }

  #onDeath(): void {
    this.#crashes++
    this.#passing = 0
    this.#living = this.#callers.pass(this.#plan.downtimeMs()).then(this.#reopen)
  }

  /** Sends the events and makes the calls, each at its time. */
  #act(): void {
    const { events, actions } = this.#subject
    events.forEach((event, index) => {
      const afterMs = durationMs(event.after ?? 0, `the time of event "${event.type}"`)
      const { first, again } = this.#plan.eventDelays()
      if (first > 0) this.#faults.happened.push(`event "${event.type}" came ${first} ms late`)
      void this.#send(event, afterMs + first, event.eventId ?? `simulated-${index}`)
      if (again === undefined) return
      this.#faults.happened.push(`event "${event.type}" was sent twice`)
      void this.#send(event, afterMs + again, event.eventId ?? `simulated-${index}-again`)
    })
    for (const action of actions) void this.#do(action)
  }

  async #send({ type, payload }: Subject["events"][number], afterMs: number, eventId: string): Promise<void> {
    await this.#callers.pass(afterMs)
    await this.#callers.untilAnswered((engine) => engine.get(this.#subject.id).sendEvent(type, payload, { eventId }))
  }

  async #do({ after = 0, run }: Subject["actions"][number]): Promise<void> {
    await this.#callers.pass(durationMs(after, "the time of an action"))
    await this.#callers.untilAnswered(async (engine) => run(engine.get(this.#subject.id), engine))
  }

  async #untilOver(observer: Engine): Promise<boolean> {
    const endAt = this.#host.now() + this.#subject.withinMs
    for (;;) {
      await this.#settle()
      if (await this.#isOver(observer)) return true
      if (this.#plan.isEvicted()) await this.#evict()
      const at = this.#host.nextTimerAt()
      if (at === undefined || at > endAt || this.#isEndless) return false
      this.#timers++
      await this.#host.advanceTo(at, () => this.#settle())
    }
  }

  get #isEndless(): boolean {
    return this.#timers > this.#bounds.timersMax || this.#faults.writes > this.#bounds.writesMax
  }

  /** The instance and all instances that it started have ended. A stalled instance counts as ended: it would need a person. */
  async #isOver({ components }: Engine): Promise<boolean> {
    const row = await components.store.directory.get(this.#subject.id)
    if (row?.status === "stalled") return true
    if (!row || !isTerminal(row.status)) return false
    const counts = await countInstances(components.store.directory, { status: ["queued", "running", "sleeping", "waiting"] }, "status")
    return Object.values(counts).every((count) => count === 0)
  }

  /** Waits until only time can change something. Steps that wait for something in real time get some real time. */
  async #settle(): Promise<void> {
    let last = -1
    let givenUpAt: number | undefined
    for (let quiet = 0, passed = 0; quiet < quietMacrotasks && !this.#isEndless && passed < macrotasksMax; passed++) {
      await new Promise<void>((resolve) => macrotask(resolve))
      const isBusy = this.#activity !== last || (this.#process !== undefined && !this.#process.isDead && this.#process.beats > 0)
      last = this.#activity
      quiet = isBusy ? 0 : quiet + 1
      if (quiet < quietMacrotasks || this.#passing > 0) continue
      const waiting = this.#waitingSteps()
      if (waiting.length === 0) return
      givenUpAt ??= Date.now() + patienceMs
      if (Date.now() < givenUpAt) quiet = 0
      else for (const step of waiting) this.#hanging.add(step)
    }
  }

  /** The steps whose function runs and does not wait for nested steps. */
  #waitingSteps(): readonly string[] {
    const { engine, isDead = true } = this.#process ?? {}
    if (!engine || isDead || engine.components.worker.residents.attempts === 0) return []
    return [...engine.components.worker.residents.values()]
      .filter((runner) => runner.attempts > 0)
      .flatMap(({ workflow, state }) =>
        state.steps
          .values()
          .filter((step) => state.isAttemptRunning(step) && !state.isBlocked(step) && !state.children.get(step.id))
          .map((step) => `${workflow.name} ${step.id}`),
      )
      .filter((step) => !this.#hanging.has(step))
  }

  async #evict(): Promise<void> {
    const worker = this.#process?.engine?.components.worker
    if (!worker || this.#process?.isDead) return
    for (const runner of [...worker.residents.values()].filter(({ isAtRest }) => isAtRest)) {
      this.#evictions++
      worker.onIdle(runner)
    }
    await this.#settle()
  }

  async #record(observer: Engine, isOver: boolean): Promise<RunRecord> {
    const { id, comparable } = this.#subject
    const { reader, store } = observer.components
    const row = await store.directory.get(id)
    const isEnded = row !== undefined && isOver && isTerminal(row.status)
    const { items } = await store.directory.list({}, { limit: 1_000, order: "oldest" })
    const others = await Promise.all(
      items.filter((item) => item.id !== id).map(async (item) => [item.id, endingOf(await reader.describe(item.id), (result) => result).text] as const),
    )
    return {
      ending: isEnded ? endingOf(await reader.describe(id), comparable) : undefined,
      others: new Map(others.toSorted(([a], [b]) => (a < b ? -1 : 1))),
      effects: this.#effects,
      why: isEnded || !row ? undefined : await (this.#process?.engine ?? observer).why(id),
      unawaited: this.#asks.unawaited,
      impureCalls: this.#globals.calls,
      faults: this.#faults.happened,
      crashes: this.#crashes,
      evictions: this.#evictions,
      writes: this.#faults.writes,
      timers: this.#timers,
      isEndless: this.#isEndless,
      journal: row && { instance: row, rows: await store.journal.readJournal(id, 1) },
    }
  }
}
