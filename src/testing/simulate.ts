import { durationMs, type Duration } from "../core/time/duration.ts"
import { PerdureError } from "../core/errors.ts"
import type { AnyWorkflow, EventMap, Workflow } from "../core/workflow/workflow.ts"
import type { Client, Handle } from "../engine/client-api.ts"
import type { EngineOptions } from "../engine/settings.ts"
import { faultPlan, noFaults, systematicSeeds, type FaultKinds, type Seed } from "./simulation/fault-plan.ts"
import { differenceOf, mistakesIn, type Finding } from "./simulation/findings.ts"
import { SimulatedRun, type Bounds, type RunRecord, type Subject } from "./simulation/simulated-run.ts"
import type { SimulatedWorld } from "./simulation/simulated-world.ts"
import { SimulationError } from "./simulation/simulation-error.ts"

/** What may go wrong. Everything that is not named does, but for long delays: an event comes up to a second late. */
export interface SimulatedFaults {
  /** The process dies at every write, and at random ones, and comes back. */
  readonly crashes?: boolean
  /** How long it stays away at most, in runs with a number as their seed; default: it is back at once. */
  readonly downtime?: Duration
  /** Something is stored, and whoever stored it gets an error. */
  readonly lostAcknowledgements?: boolean
  /** Instances leave memory while nothing happens to them, and are brought back from their journals. */
  readonly evictions?: boolean
  /** Events are sent twice; the second has another id, unless you give one. */
  readonly duplicateEvents?: boolean
  /** How late an event comes at most; `false`: never. */
  readonly delayEvents?: Duration | false
}

/** An event that `simulate` sends to the instance in every run. */
export type SimulatedEvent<Sent> = {
  [K in keyof Sent & string]: {
    /** The type of the event. */
    readonly type: K
    /** When it is sent, since the start. Default: at once. */
    readonly after?: Duration
    /** An event sent twice with the same id is received once. Default: each sending is an event of its own, also a doubled one. */
    readonly eventId?: string
  } & PayloadOf<Sent[K]>
}[keyof Sent & string]

type PayloadOf<P> = undefined extends P
  ? {
      /** What the event carries. */
      readonly payload?: P
    }
  : unknown extends P
    ? { readonly payload?: P }
    : { readonly payload: P }

/** Anything else that somebody does from outside; done again if its answer is lost. */
export interface SimulatedAction<Out, Sent> {
  /** Since the start. */
  readonly after?: Duration
  /** What is done. It may be asynchronous; what it throws is an answer like any other, and does not fail the run. */
  readonly run: (handle: Handle<Out, Sent>, client: Client) => unknown
}

/** Options of `simulate`. */
export interface SimulateOptions<In, Out, Sent> {
  /** What the instance is started with. */
  readonly input?: In
  /** Events that somebody sends, each at its time since the start. Default: none. */
  readonly events?: readonly SimulatedEvent<Sent>[]
  /** Other things that somebody does from outside, each at its time since the start. Default: none. */
  readonly actions?: readonly SimulatedAction<Out, Sent>[]
  /** Others that it may start. Default: none. */
  readonly workflows?: readonly AnyWorkflow[]
  /** How many random runs follow the systematic ones, default 100; or exactly which runs. */
  readonly seeds?: number | readonly Seed[]
  /** What may go wrong. Default: everything, with events up to a second late. */
  readonly faults?: SimulatedFaults
  /** What of the result has to be the same in every run; default: all of it. */
  readonly comparable?: (result: Out) => unknown
  /** The virtual time that it may take; default ten years. */
  readonly within?: Duration
  /** The id of the instance. Default `"simulated"`. */
  readonly id?: string
  /** Options of the engine that runs it, such as `retry`. */
  readonly engine?: EngineOptions
  /** Called before each run with its seed, how many are done, and how many there will be. */
  readonly onProgress?: (progress: { readonly seed: Seed; readonly done: number; readonly runs: number }) => void
}

export type SimulateArguments<In, Out, Sent> = undefined extends In
  ? [options?: SimulateOptions<In, Out, Sent>]
  : [In] extends [void]
    ? [options?: SimulateOptions<In, Out, Sent>]
    : [options: SimulateOptions<In, Out, Sent> & { readonly input: In }]

/**
 * Makes a workflow, with the fakes that its steps talk to, anew for every run; and others that it may start, behind it. Write the type of its
 * parameter, `(world: SimulatedWorld) => …`: without it the compiler looks at `events` before it knows the workflow.
 */
export type SimulationSetup<In, Out, Events, Sent> = (
  world: SimulatedWorld,
) => Workflow<In, Out, Events, Sent> | readonly [Workflow<In, Out, Events, Sent>, ...AnyWorkflow[]]

/** What `simulate` gives where every run came out as the one without faults did. */
export interface SimulationReport<Out> {
  /** How many runs were made, those without faults included. */
  readonly runs: number
  /** How the instance ended without faults. */
  readonly status: string
  /** What it gave without faults. */
  readonly result: Out
  /** How often each effect and each step happened without faults. */
  readonly effects: Readonly<Record<string, number>>
  /** Boundaries at which the process was made to die: the writes of the run without faults. */
  readonly writes: number
  /** How often the process died, over all runs. */
  readonly crashes: number
  /** How often an instance was taken out of memory, over all runs. */
  readonly evictions: number
}

/**
 * Runs a workflow many times under virtual time, each time with something else going wrong around it, and throws a `SimulationError` for the
 * first run that does not come out as the one without faults did: another result, other effects, or no end.
 */
export function simulate<In, Out, Events, Sent>(
  workflow: Workflow<In, Out, Events, Sent>,
  ...options: SimulateArguments<NoInfer<In>, NoInfer<Out>, NoInfer<Sent>>
): Promise<SimulationReport<Out>>
/** The same with fakes: `setup` makes them, and the workflow over them, anew for every run. */
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
      if (!plan) throw new PerdureError("BAD_OPTION", `"${seed}" is no seed; give numbers, or the text that a SimulationError gave`, { details: { seed } })
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

/** Two runs without faults already differ: no fault is needed to see that. */
function unlikeItself(finding: Finding | undefined): Finding | undefined {
  return (
    finding && {
      ...finding,
      what: `two runs without any fault differ already: ${finding.what}`,
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
