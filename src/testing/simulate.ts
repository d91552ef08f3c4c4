import { durationMs, type Duration } from "../core/time/duration.ts"
import { PerdureError } from "../core/errors.ts"
import type { AnyWorkflow, EventMap, Workflow } from "../core/workflow/workflow.ts"
import type { Client, Handle } from "../client-api/client-api.ts"
import type { EngineOptions } from "../engine/settings.ts"
import { faultPlan, noFaults, systematicSeeds, type FaultKinds, type Seed } from "./simulation/fault-plan.ts"
import { differenceOf, mistakesIn, type Finding } from "./simulation/findings.ts"
import { SimulatedRun, type Bounds, type RunRecord, type Subject } from "./simulation/simulated-run.ts"
import type { SimulatedWorld } from "./simulation/simulated-world.ts"
import { SimulationError } from "./simulation/simulation-error.ts"

/** The kinds of faults that `simulate` injects. All kinds are on by default; events are delayed by at most one second. */
export interface SimulatedFaults {
  /** The process dies and starts again: in one run for each write of the workflow, and at random writes in the random runs. */
  readonly crashes?: boolean
  /** The longest time between a crash and the next start of the process, in runs whose seed is a number. Default: the process starts again at once. */
  readonly downtime?: Duration
  /** The store writes, but the engine gets an error in place of the answer. */
  readonly lostAcknowledgements?: boolean
  /** Idle instances are evicted from memory, and loaded again from their journals. */
  readonly evictions?: boolean
  /** Events are sent twice. The second event has another id, unless you give the event an id. */
  readonly duplicateEvents?: boolean
  /** The longest delay of an event; `false`: no event is delayed. */
  readonly delayEvents?: Duration | false
}

/** An event that `simulate` sends to the instance in each run. */
export type SimulatedEvent<Sent> = {
  [K in keyof Sent & string]: {
    /** The type of the event. */
    readonly type: K
    /** The time from the start of the instance to the sending of the event. Default: the event is sent at once. */
    readonly after?: Duration
    /** Two events with the same id are received once. Default: every sent event has its own id, also the second of a duplicated pair. */
    readonly eventId?: string
  } & PayloadOf<Sent[K]>
}[keyof Sent & string]

type PayloadOf<P> = undefined extends P
  ? {
      /** The payload of the event. */
      readonly payload?: P
    }
  : unknown extends P
    ? { readonly payload?: P }
    : { readonly payload: P }

/** A call from outside, other than an event. It is made again if its answer is lost. */
export interface SimulatedAction<Out, Sent> {
  /** The time from the start of the instance to the call. Default: the call is made at once. */
  readonly after?: Duration
  /** Makes the call. The function may be asynchronous. An error counts as an answer and does not fail the run. */
  readonly run: (handle: Handle<Out, Sent>, client: Client) => unknown
}

/** Options of `simulate`. */
export interface SimulateOptions<In, Out, Sent> {
  /** The input of the instance. */
  readonly input?: In
  /** Events that are sent to the instance. Default: none. */
  readonly events?: readonly SimulatedEvent<Sent>[]
  /** Other calls from outside. Default: none. */
  readonly actions?: readonly SimulatedAction<Out, Sent>[]
  /** Other workflows that the simulated workflow may start. Default: none. */
  readonly workflows?: readonly AnyWorkflow[]
  /** The number of random runs after the systematic runs (default 100), or a list of the exact seeds to run. */
  readonly seeds?: number | readonly Seed[]
  /** The kinds of faults. Default: all kinds, with events delayed by at most one second. */
  readonly faults?: SimulatedFaults
  /** Selects the part of the result that must be equal in all runs. Default: the whole result. */
  readonly comparable?: (result: Out) => unknown
  /** The longest virtual time that a run may take. Default: ten years. */
  readonly within?: Duration
  /** The id of the instance. Default `"simulated"`. */
  readonly id?: string
  /** Options of the engine that runs the workflow, such as `retry`. */
  readonly engine?: EngineOptions
  /** Called before each run with its seed, the number of finished runs, and the number of all runs. */
  readonly onProgress?: (progress: { readonly seed: Seed; readonly done: number; readonly runs: number }) => void
}

export type SimulateArguments<In, Out, Sent> = undefined extends In
  ? [options?: SimulateOptions<In, Out, Sent>]
  : [In] extends [void]
    ? [options?: SimulateOptions<In, Out, Sent>]
    : [options: SimulateOptions<In, Out, Sent> & { readonly input: In }]

/**
 * Creates the workflow, and the fakes that its steps call, for each run. It may return a list: the workflow first, then the workflows that it may start. Write the
 * type of the parameter, `(world: SimulatedWorld) => …`: without the type, the compiler checks `events` before it knows the workflow.
 */
export type SimulationSetup<In, Out, Events, Sent> = (
  world: SimulatedWorld,
) => Workflow<In, Out, Events, Sent> | readonly [Workflow<In, Out, Events, Sent>, ...AnyWorkflow[]]

/** The answer of `simulate` if the result of each run equals the result of the run without faults. */
export interface SimulationReport<Out> {
  /** The number of runs, including the runs without faults. */
  readonly runs: number
  /** The final status of the instance in the run without faults. */
  readonly status: string
  /** The result of the instance in the run without faults. */
  readonly result: Out
  /** The count of each effect and of each step in the run without faults. */
  readonly effects: Readonly<Record<string, number>>
  /** The number of writes in the run without faults. The systematic runs crash the process at each of them. */
  readonly writes: number
  /** The number of crashes in all runs. */
  readonly crashes: number
  /** The number of evictions in all runs. */
  readonly evictions: number
}

/**
 * Runs a workflow many times in virtual time, with other faults in each run. Throws a `SimulationError` for the first run that differs from the run
 * without faults: by its result, by its effects, or because it does not end.
 */
export function simulate<In, Out, Events, Sent>(
  workflow: Workflow<In, Out, Events, Sent>,
  ...options: SimulateArguments<NoInfer<In>, NoInfer<Out>, NoInfer<Sent>>
): Promise<SimulationReport<Out>>
/** Simulates a workflow whose steps call fakes: `setup` creates the fakes and the workflow for each run. */
export function simulate<In, Out, Events, Sent>(
  setup: SimulationSetup<In, Out, Events, Sent>,
  ...options: SimulateArguments<NoInfer<In>, NoInfer<Out>, NoInfer<Sent>>
): Promise<SimulationReport<Out>>
export function simulate(subject: AnyWorkflow | AnySetup, options: AnyOptions = {}): Promise<SimulationReport<unknown>> {
  return new Simulation(subjectOf(subject, options), kindsOf(options.faults ?? {})).run(options)
}

const seedsDefault = 100
const calmBounds: Bounds = { timersMax: 10_000, writesMax: 10_000 }

type AnyOptions = SimulateOptions<unknown, unknown, EventMap>
type AnySetup = (world: SimulatedWorld) => AnyWorkflow | readonly [AnyWorkflow, ...AnyWorkflow[]]

class Simulation {
  readonly #subject: Subject
  readonly #kinds: FaultKinds
  readonly #hanging = new Set<string>()
  #runs = 0
  #crashes = 0
  #evictions = 0

  constructor(subject: Subject, kinds: FaultKinds) {
    this.#subject = subject
    this.#kinds = kinds
  }

  async run({ seeds = seedsDefault, onProgress }: Pick<AnyOptions, "seeds" | "onProgress">): Promise<SimulationReport<unknown>> {
    const calm = await this.#once(noFaults, "calm", calmBounds)
    this.#check(undefined, mistakesIn(calm), calm)
    const twin = await this.#once(noFaults, "calm twin", calmBounds)
    this.#check(undefined, mistakesIn(twin) ?? unlikeItself(differenceOf(calm, twin)), twin)
    const bounds = { timersMax: 3 * calm.timers + 1_000, writesMax: 3 * calm.writes + 1_000 }
    const hasEvents = this.#subject.events.length > 0
    const chosen = typeof seeds === "number" ? [...systematicSeeds(this.#kinds, calm.writes, hasEvents), ...numbers(seeds)] : seeds
    for (const [done, seed] of chosen.entries()) {
      onProgress?.({ seed, done, runs: chosen.length })
      const plan = faultPlan(seed, this.#kinds, calm.writes)
      if (!plan) throw new PerdureError("BAD_OPTION", `"${seed}" is not a seed; give a number, or the seed of a SimulationError`, { details: { seed } })
      const run = await this.#once(plan, String(seed), bounds)
      this.#check(seed, mistakesIn(run) ?? differenceOf(calm, run), run)
    }
    const { ending, effects, writes } = calm
    const counts = Object.fromEntries(effects.counts)
    const totals = { runs: this.#runs, crashes: this.#crashes, evictions: this.#evictions }
    return { ...totals, status: ending?.status ?? "", result: ending?.result, effects: counts, writes }
  }

  async #once(plan: typeof noFaults, seed: string, bounds: Bounds): Promise<RunRecord> {
    const run = await new SimulatedRun(this.#subject, plan, seed, bounds, this.#hanging).run()
    this.#runs++
    this.#crashes += run.crashes
    this.#evictions += run.evictions
    return run
  }

  #check(seed: Seed | undefined, finding: Finding | undefined, run: RunRecord): void {
    if (finding) throw new SimulationError(run.journal?.instance.workflow ?? this.#subject.id, seed, finding, run)
  }
}

/** The finding for two runs without faults that differ. */
function unlikeItself(finding: Finding | undefined): Finding | undefined {
  return (
    finding && {
      ...finding,
      what: `two runs without any fault differ: ${finding.what}`,
      hints: finding.hints.length > 0 ? finding.hints : ["every run needs fakes of its own that answer the same: make them in simulate((world) => …)"],
    }
  )
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

function subjectOf(subject: AnyWorkflow | AnySetup, options: AnyOptions): Subject {
  const { input, events = [], actions = [], workflows = [], comparable, within = "520w", id = "simulated", engine = {} } = options
  return {
    workflows: (world) => {
      const made = typeof subject === "function" ? subject(world) : subject
      return "run" in made ? [made, ...workflows] : [...made, ...workflows]
    },
    id,
    input,
    events,
    actions,
    engine,
    comparable: comparable ?? ((result) => result),
    withinMs: durationMs(within, "within"),
  }
}

function kindsOf(faults: SimulatedFaults): FaultKinds {
  const { crashes = true, lostAcknowledgements = true, evictions = true, duplicateEvents = true, delayEvents = "1s", downtime = 0 } = faults
  return {
    crashes,
    lostAcknowledgements,
    evictions,
    duplicateEvents,
    delayEventsMs: delayEvents === false ? 0 : durationMs(delayEvents, "delayEvents"),
    downtimeMs: durationMs(downtime, "downtime"),
  }
}
