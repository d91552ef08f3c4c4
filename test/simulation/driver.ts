/**
 * Runs one scenario under one plan of faults: processes over one store and one virtual clock, and a caller who acts on
 * instances. Everything is recorded as it happens. Findings are collected, with the details that explain them.
 */
import { expectReplay, memory } from "perdure/testing"
import { Engine } from "../../src/engine/engine.ts"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { macrotask, SimulatedHost } from "../../src/hosts/simulated/simulated-host.ts"
import type { Store, StoreProvider } from "../../src/ports/store.ts"
import type { SimulatedProcess } from "../../src/testing/simulation/simulated-process.ts"
import { PlannedFaults, type FaultPlan } from "./faults.ts"
import { AnswerAudit } from "./answer-audit.ts"
import { workflowsOf } from "./interpreter.ts"
import { JournalMirror } from "./journal-mirror.ts"
import { Ledger } from "./ledger.ts"
import { noteSent, Outside } from "./outside.ts"
import { definitionsOf, type Definition, type Scenario } from "./program.ts"
import type { PlantedBug } from "./planted-bugs.ts"
import { ObservedProcess } from "./process.ts"
import { waitsOf } from "./reference-model.ts"
import { options } from "./settings.ts"
import { SlotAudit } from "./slot-audit.ts"
import { Statistics } from "./statistics.ts"
import { judge, type InstanceEnding } from "./verdict.ts"

export interface SimulationSpec {
  readonly scenario: Scenario
  readonly faults: FaultPlan
  readonly seed: string
  readonly workers: number
  /** How long a dead process stays away. */
  readonly downMs: number
  /** The lease of a dead process ends at once, as on a SQLite file with one process. */
  readonly isEmbedded: boolean
  /** Processes that are suspended for a while, and that others take for dead. */
  readonly freezes?: readonly { readonly atMs: number; readonly worker: number; readonly forMs: number }[]
  /** Processes that are closed in good order and opened again. */
  readonly deploys?: readonly { readonly atMs: number; readonly worker: number }[]
  /** Processes that open after this time have the changed code; default: all have it. Only with one worker. */
  readonly patchAtMs?: number
  /** How long the clean-up of a cancelled instance takes. */
  readonly cleanUpMs?: number
  /** A fault planted in the engine. */
  readonly bug?: PlantedBug
  /** A fault planted between the store and everything else. */
  readonly plant?: (store: StoreProvider, world: { readonly onCrash: (listener: () => void) => void }) => StoreProvider
}

export interface SimulationReport {
  readonly violations: readonly string[]
  readonly statistics: Statistics
  /** The number of writes, before and after which a crash may happen. */
  readonly writes: number
  readonly journals: string
  readonly traces: string
  /** How each instance ended. */
  readonly endings: ReadonlyMap<string, InstanceEnding>
}

const counted: ReadonlySet<string> = new Set([
  "child.ended",
  "event.handled",
  "update.accepted",
  "update.completed",
  "update.failed",
  "patched",
  "annotated",
  "run.continued",
  "ask.aborted",
  "terminate.requested",
])
const closingMs = 30_000
const endMs = 1_800_000
const macrotasksMax = 20_000
const timersAtOnceMax = 2_000

export async function simulate(spec: SimulationSpec): Promise<SimulationReport> {
  const simulation = new Simulation(spec)
  const restore = spec.bug?.(() => simulation.engines)
  try {
    return await simulation.run()
  } finally {
    restore?.()
  }
}

export class Simulation {
  readonly spec: SimulationSpec
  readonly host: SimulatedHost
  readonly statistics = new Statistics()
  readonly violations: string[] = []
  readonly mirror: JournalMirror
  readonly ledger: Ledger
  readonly outside: Outside
  readonly answers: AnswerAudit
  readonly definitions: ReadonlyMap<string, Definition>
  /** The store below all planted faults and watchers. */
  readonly #base = memory()
  readonly #store: StoreProvider
  readonly #slotAudit: SlotAudit
  readonly #faults: PlannedFaults
  readonly #random: SeededRandom
  readonly #slots: (ObservedProcess | undefined)[] = []
  readonly #crashListeners: (() => void)[] = []
  readonly #beganAt: number
  #operator: Store | undefined
  #endings: ReadonlyMap<string, InstanceEnding> = new Map()
  #activity = 0
  #settlings = 0
  #settledAt = 0

  constructor(spec: SimulationSpec) {
    this.spec = spec
    this.host = new SimulatedHost({ seed: `${spec.seed} host` })
    this.#beganAt = this.host.now()
    this.#random = new SeededRandom(`${spec.seed} driver`)
    const report = (violation: string) => this.violations.push(`${this.host.now() - this.#beganAt}ms ${violation}`)
    const { instances, schedules = [] } = spec.scenario
    const definitions = [...instances, ...schedules].flatMap((instance) => definitionsOf(instance))
    this.definitions = new Map(definitions.map((definition) => [definition.name, definition]))
    this.#slotAudit = new SlotAudit(this.definitions, report)
    this.mirror = new JournalMirror(this.definitions, this.#slotAudit, report)
    this.ledger = new Ledger(this.mirror, report)
    const onCrash = (listener: () => void) => this.#crashListeners.push(listener)
    this.#store = this.mirror.watch(spec.plant ? spec.plant(this.#base, { onCrash }) : this.#base)
    this.#faults = new PlannedFaults(spec.faults, new SeededRandom(`${spec.seed} faults`), this.statistics)
    this.answers = new AnswerAudit(this.mirror, report)
    this.outside = new Outside({ pick: () => this.#pick(), pass: (ms) => this.#pass(ms) }, this.answers)
  }

  async run(): Promise<SimulationReport> {
    const { scenario, workers, freezes = [], deploys = [] } = this.spec
    this.#operator = await this.#store.open({ now: () => this.host.now(), log: this.host.log, role: "client" })
    for (let slot = 0; slot < workers; slot++) void this.#open(slot)
    for (const instance of scenario.instances) void this.outside.start(instance)
    for (const { id } of scenario.instances) void this.outside.act(scenario.actions.filter(({ instance }) => instance === id))
    for (const schedule of scenario.schedules ?? []) void this.outside.schedule(schedule, this.#beganAt)
    for (const { atMs, worker, forMs } of freezes) this.#at(atMs, () => this.#freeze(worker, forMs))
    for (const { atMs, worker } of deploys) this.#at(atMs, () => void this.#deploy(worker))
    this.#at(closingMs, () => void this.#close(1))
    await this.#untilDone()
    await this.#judge()
    return this.#report()
  }

  get engines(): readonly Engine[] {
    return this.#slots.flatMap((process) => (process?.engine ? [process.engine] : []))
  }

  async #untilDone(): Promise<void> {
    for (;;) {
      await this.#settle()
      if (this.#isDone) return
      const at = this.host.nextTimerAt()
      if (at === undefined || at > this.#beganAt + endMs) break
      await this.host.advanceTo(at, () => this.#settle())
    }
    this.violations.push("time ran out before everything was done")
  }

  get #isDone(): boolean {
    const { instances, schedules = [] } = this.spec.scenario
    if (!schedules.every(({ id }) => this.mirror.schedules.isDone(id))) return false
    if (this.outside.pending > 0 || !instances.every(({ id }) => this.mirror.instances.has(id))) return false
    return [...this.mirror.instances.values()].every(({ isEnded }) => isEnded)
  }

  /** Runs until nothing more happens without time passing. */
  async #settle(): Promise<void> {
    this.#settlings = this.host.now() === this.#settledAt ? this.#settlings + 1 : 0
    this.#settledAt = this.host.now()
    if (this.#settlings > timersAtOnceMax) throw new Error("timers fire again and again without time passing")
    let last = -1
    for (let quiet = 0, passed = 0; quiet < 3; passed++) {
      await new Promise<void>((resolve) => macrotask(resolve))
      const isBusy = this.#activity !== last || this.#slots.some((process) => process && !process.isDead && process.beats > 0)
      quiet = isBusy ? 0 : quiet + 1
      last = this.#activity
      if (passed > macrotasksMax) throw new Error("something goes round in circles without time passing")
    }
  }

  async #open(slot: number): Promise<void> {
    const process = new ObservedProcess({
      host: this.host,
      store: this.#store,
      faults: this.#faults,
      options,
      onActivity: () => this.#activity++,
      onDeath: (dead) => this.#onDeath(slot, dead),
    })
    this.#slots[slot] = process
    const workflows = workflowsOf([...this.definitions.values()], {
      ledger: this.ledger,
      worker: () => process.worker,
      loaded: (id) => process.loaded(id),
      cleanUpMs: this.spec.cleanUpMs ?? 0,
      pass: (ms) => process.work(ms),
      isPatched: this.host.now() - this.#beganAt >= (this.spec.patchAtMs ?? 0),
    })
    await process.open(workflows)
  }

  #onDeath(slot: number, dead: SimulatedProcess): void {
    this.statistics.count("crashes")
    for (const listener of this.#crashListeners) listener()
    this.#slots[slot] = undefined
    const reopen = async () => {
      if (this.spec.isEmbedded) await this.#operator?.journal.renew(dead.worker, 0)
      await this.#open(slot)
    }
    this.host.setTimer(this.host.now() + this.spec.downMs, () => void reopen())
  }

  #freeze(slot: number, forMs: number): void {
    const process = this.#slots[slot]
    if (!process || process.isDead || process.isFrozen) return
    this.statistics.count("freezes")
    process.freeze()
    this.host.setTimer(this.host.now() + forMs, () => process.thaw())
  }

  async #deploy(slot: number): Promise<void> {
    const process = this.#slots[slot]
    if (!process?.engine || process.isDead || process.isFrozen) return
    this.statistics.count("deploys")
    await Promise.race([process.engine.close().catch(() => undefined), process.died])
    if (process.isDead) return
    process.retire()
    await this.#open(slot)
  }

  /** Near the end, resumes paused instances and sends awaited events, until all instances have ended. */
  async #close(round: number): Promise<void> {
    this.#faults.isQuiet = round > 1
    this.outside.pending++
    for (const [id, mirrored] of this.mirror.instances) {
      if (mirrored.isEnded) continue
      if (mirrored.status === "paused") await this.outside.control(id, "resume")
      const program = this.definitions.get(mirrored.workflow)?.programs[mirrored.program]
      for (const [type, count] of program ? waitsOf(program) : []) {
        for (let index = 0; index < count; index++) {
          const payload = `${type}:closing-${round}-${index}`
          await this.outside.send(id, { type, payload, eventId: payload })
        }
      }
    }
    this.outside.pending--
    this.host.setTimer(this.host.now() + closingMs, () => void this.#close(round + 1))
  }

  async #judge(): Promise<void> {
    for (const [child, events] of this.ledger.sentToChildren) for (const event of events) noteSent(this.outside.log(child), event)
    const client = await Engine.open({ host: this.host, store: this.#base, workflows: [], options, role: "client" })
    this.ledger.check()
    this.mirror.schedules.check(this.statistics)
    const { violations, endings } = await judge(this.spec.scenario, this.definitions, this.mirror, this.ledger, this.outside, client)
    this.violations.push(...violations)
    this.#endings = endings
    await this.#replay(client)
    this.ledger.check()
  }

  /** Replays every journal. The code must reach the same end, and no step may run. */
  async #replay(client: Engine): Promise<void> {
    const workflows = workflowsOf([...this.definitions.values()], {
      ledger: this.ledger,
      worker: () => "replay",
      loaded: () => Infinity,
      cleanUpMs: 0,
      pass: () => Promise.resolve(),
      isPatched: true,
    })
    for (const [id, mirrored] of this.mirror.instances) {
      const row = await client.components.store.directory.get(id)
      const workflow = workflows.find(({ name }) => name === mirrored.workflow)
      if (!row || !workflow || mirrored.run.ended?.entry.type !== "run.completed") continue
      const rows = await client.components.store.journal.readJournal(id, 1)
      try {
        await expectReplay({ instance: row, rows }, workflow)
      } catch (error) {
        this.violations.push(`${id}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }

  #report(): SimulationReport {
    const { statistics, mirror, ledger } = this
    const audits = [...mirror.instances.values()]
    const entries = audits.flatMap((instance) => instance.entries)
    statistics.count(
      "turns",
      audits.reduce((sum, { turns }) => sum + turns.length, 0),
    )
    statistics.count("lost turns", mirror.lostTurns)
    statistics.count("replays", ledger.replays)
    statistics.count("step calls", ledger.calls)
    statistics.count("stale calls", ledger.staleCalls)
    statistics.count("recoveries", entries.filter(({ entry }) => entry.type === "recovered").length)
    statistics.count("takeovers", takeovers(entries))
    for (const { entry } of entries) if (counted.has(entry.type)) statistics.count(entry.type)
    statistics.count("children", audits.filter(({ parent }) => parent !== undefined).length)
    statistics.count("forsaken children", audits.filter(({ forsaken }) => forsaken !== undefined).length)
    for (const { undo } of audits.flatMap(({ runs }) => [...runs.values()])) {
      statistics.count("steps undone", undo.count)
      statistics.count("incomplete steps undone", undo.incompleteCount)
      statistics.count("rollbacks stopped", undo.isStopped ? 1 : 0)
    }
    statistics.count("runs from a step", entries.filter(({ entry }) => entry.type === "run.started" && "kept" in entry).length)
    statistics.count("steps timed out", entries.filter(({ entry }) => entry.type === "step.failed" && JSON.stringify(entry).includes("STEP_TIMEOUT")).length)
    statistics.count("conditions", entries.filter(({ entry }) => entry.type === "wait.completed" && !("from" in entry)).length)
    statistics.count("answered updates", this.answers.updates)
    statistics.count("answered queries", this.answers.queries)
    statistics.count("slots taken", this.#slotAudit.taken)
    statistics.count("limits reached", this.#slotAudit.filled)
    const text = (value: unknown) => JSON.stringify(value)
    const journals = [...mirror.instances].map(([id, instance]) =>
      [id, ...instance.entries.map(({ position, at, worker, entry }) => `  ${position} +${at - this.#beganAt} ${worker.slice(0, 4)} ${text(entry)}`)].join(
        "\n",
      ),
    )
    const traces = ledger.traces.map(
      ({ instance, run, worker, seen, pinned, durableAtStart }) =>
        `${instance} run ${run} by ${worker.slice(0, 4)} pinned ${pinned} durable ${durableAtStart}: ${seen.map(({ id, outcome }) => `${id}=${outcome}`).join(" ")}`,
    )
    return {
      violations: this.violations,
      statistics,
      writes: this.#faults.writes,
      journals: journals.join("\n"),
      traces: traces.join("\n"),
      endings: this.#endings,
    }
  }

  #at(atMs: number, act: () => void): void {
    this.host.setTimer(this.#beganAt + atMs, act)
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.host.setTimer(this.host.now() + ms, resolve)
    })
  }

  #pick(): ObservedProcess | undefined {
    const living = this.#slots.filter((process) => process !== undefined && !process.isDead && process.engine !== undefined)
    return living[Math.floor(this.#random.next() * living.length)]
  }
}

/** How often the next turn of an instance was written by another worker. */
function takeovers(entries: readonly { readonly worker: string; readonly position: number }[]): number {
  return entries.filter(({ worker, position }, index) => position > 1 && entries[index - 1]?.worker !== worker).length
}
