/** Generates a simulation from its seed: programs, actions from outside, and faults. */
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import type { SimulationSpec } from "./driver.ts"
import { crashPhases, noFaults, type CrashPhase, type FaultRates } from "./faults.ts"
import { handledEvent } from "./interpreter.ts"
import {
  nodesOf,
  type Act,
  type Flow,
  type FlowLimit,
  type OutsideAction,
  type Program,
  type Scenario,
  type SentEvent,
  type SimulatedInstance,
  type SimulatedSchedule,
  type Sleep,
  type Step,
  type Wait,
} from "./program.ts"
import { leaseMs } from "./settings.ts"

export function simulationOf(seed: number): SimulationSpec {
  const dice = new Dice(`simulation ${seed}`)
  const planned = scenarioOf(dice, new Dice(`rollback ${seed}`))
  const scenario = scheduled(crowded(planned, new Dice(`flow ${seed}`)), new Dice(`schedules ${seed}`))
  const workers = dice.happens(0.5) ? 2 : 1
  const spans = { startMs: 0, endMs: 25_000 }
  return {
    scenario,
    faults: { crashes: crashesOf(dice), rates: ratesOf(dice), ...(scenario.schedules ? { hasSchedules: true } : {}) },
    seed: String(seed),
    workers,
    downMs: dice.pick([0, 500, leaseMs, 2 * leaseMs]),
    isEmbedded: workers === 1 && dice.happens(0.7),
    freezes: workers === 1 ? [] : dice.list(2, () => ({ atMs: dice.upTo(spans.endMs), worker: dice.upTo(2), forMs: leaseMs + dice.upTo(3 * leaseMs) })),
    cleanUpMs: dice.pick([0, 0, 300, 2_000, 10_000]),
    ...(workers === 1 ? { patchAtMs: dice.pick([0, 5_000, 15_000]) } : {}),
    deploys: dice.happens(0.2) ? [{ atMs: dice.upTo(spans.endMs), worker: dice.upTo(workers) }] : [],
  }
}

function crashesOf(dice: Dice): Map<number, CrashPhase> {
  const crashes = new Map<number, CrashPhase>()
  for (let index = 1 + dice.upTo(5); index > 0; index--) crashes.set(dice.upTo(30), dice.pick(crashPhases))
  return crashes
}

function ratesOf(dice: Dice): FaultRates {
  const sometimes = (rate: number) => (dice.happens(0.4) ? rate : 0)
  return {
    ...noFaults,
    commitError: sometimes(0.1),
    deliverError: sometimes(0.2),
    claimError: sometimes(0.1),
    readError: sometimes(0.05),
    delay: sometimes(0.1),
    delayMsMax: dice.pick([50, 1_000, 2 * leaseMs]),
    renewalLost: sometimes(0.3),
    renewalLate: sometimes(0.3),
    hintLost: sometimes(0.5),
  }
}

const eventTypes = ["red", "green"] as const
const sentTypes = [...eventTypes, handledEvent]

const rollbackPolicies = (["started", "completed"] as const).flatMap((of) => (["stop", "continue"] as const).map((onFailure) => ({ of, onFailure })))

function scenarioOf(dice: Dice, rollbackDice: Dice): Scenario {
  const instances: SimulatedInstance[] = []
  const actions: OutsideAction[] = []
  for (let index = 1 + dice.upTo(3); index > 0; index--) {
    const id = `i${index}`
    const startAtMs = dice.upTo(3) * dice.upTo(1_000)
    const events = new EventMaker(dice)
    const isRestartedFrom = dice.happens(0.15)
    const rollbackPolicy = rollbackDice.happens(0.5) ? rollbackDice.pick(rollbackPolicies) : undefined
    const maker = new ProgramMaker(dice, 3 + dice.upTo(10), isRestartedFrom ? "kept" : "some", rollbackPolicy ? oftenUndone : seldomUndone)
    const program = maker.make()
    instances.push({
      id,
      program,
      startAtMs,
      ...(rollbackPolicy ? { rollbackPolicy } : {}),
      ...(dice.happens(0.2) ? { next: [maker.more(1 + dice.upTo(4)), ...(dice.happens(0.3) ? [maker.more(2)] : [])] } : {}),
      ...(dice.happens(0.2) ? { delayMs: dice.upTo(15_000) } : {}),
      ...(dice.happens(0.2) ? { with: { ...events.make(), eventId: `start-${id}` } } : {}),
    })
    const steps = [...nodesOf(program)].filter((node) => node.kind === "step")
    const own: Act[] = [
      ...dice.list(4, () => ({ kind: "event", event: events.make() }) as const),
      ...dice.list(2, () => ({ kind: "update", arg: `${dice.happens(0.2) ? "bad" : "u"}${dice.upTo(1_000_000)}` }) as const),
      ...dice.list(2, () => ({ kind: "query" }) as const),
      ...(dice.happens(0.25) ? ([{ kind: "pause" }, { kind: "resume" }] as const) : []),
      ...(dice.happens(0.15) ? ([{ kind: "cancel" }] as const) : []),
      ...(dice.happens(0.1) ? ([{ kind: "terminate" }] as const) : []),
      ...(dice.happens(0.05) ? ([{ kind: "undo" }] as const) : []),
      ...(dice.happens(0.1) ? ([{ kind: "restart" }] as const) : []),
      ...(isRestartedFrom && steps.length > 0 ? ([{ kind: "restartFrom", step: dice.pick(steps).label }] as const) : []),
    ]
    for (const act of own) actions.push({ atMs: startAtMs + dice.upTo(20_000), instance: id, act })
  }
  return { instances, actions: actions.toSorted((a, b) => a.atMs - b.atMs) }
}

/** Sometimes adds several instances of one workflow, and limits for it. */
function crowded(scenario: Scenario, dice: Dice): Scenario {
  if (!dice.happens(0.2)) return scenario
  const original = dice.pick(scenario.instances)
  const limit = (isKeyed: boolean): FlowLimit => ({ limit: 1 + dice.upTo(isKeyed ? 2 : 3), isKeyed, hold: dice.happens(0.3) })
  const flow: Flow = {
    limits: dice.pick([[limit(false)], [limit(true)], [limit(false), limit(true)]]),
    ...(dice.happens(0.2) ? { rate: { limit: 1 + dice.upTo(2), per: dice.pick([500, 3_000]) } } : {}),
  }
  const limited = (instance: SimulatedInstance) => ({ ...instance, flow, input: { program: 0, key: dice.pick(["a", "b"]), priority: dice.upTo(3) } })
  const twins = Array.from({ length: 1 + dice.upTo(3) }, (_, index) => ({
    ...original,
    id: `${original.id}-twin${index}`,
    twinOf: original.id,
    startAtMs: original.startAtMs + dice.upTo(2) * dice.upTo(1_000),
  }))
  const own = scenario.actions.filter(({ instance }) => instance === original.id)
  const actions = twins.flatMap(({ id }) => own.filter(() => dice.happens(0.5)).map((action) => ({ ...action, instance: id, atMs: dice.upTo(20_000) })))
  return {
    instances: [...scenario.instances.map((instance) => (instance === original ? limited(instance) : instance)), ...twins.map((twin) => limited(twin))],
    actions: [...scenario.actions, ...actions].toSorted((a, b) => a.atMs - b.atMs),
  }
}

/** Sometimes adds schedules. */
function scheduled(scenario: Scenario, dice: Dice): Scenario {
  if (!dice.happens(0.15)) return scenario
  const schedules = Array.from({ length: 1 + dice.upTo(2) }, (_, index): SimulatedSchedule => {
    const createAtMs = dice.upTo(3_000)
    const everyMs = dice.pick([1_000, 2_000, 3_000, 7_000])
    return {
      id: `s${index + 1}`,
      program: new ProgramMaker(dice, 1 + dice.upTo(3), "none").make(),
      createAtMs,
      everyMs,
      endAtMs: createAtMs + everyMs * (1 + dice.upTo(6)),
      overlap: dice.pick(["skip", "queue", "cancel-previous", "allow"] as const),
    }
  })
  return { ...scenario, schedules }
}

class EventMaker {
  readonly #dice: Dice
  #made: SentEvent[] = []

  constructor(dice: Dice) {
    this.#dice = dice
  }

  /** Makes a new event, or an event with an id that was sent before. */
  make(): SentEvent {
    const dice = this.#dice
    const before = this.#made.filter(({ eventId }) => eventId !== undefined)
    if (before.length > 0 && dice.happens(0.3)) return dice.pick(before)
    const type = dice.pick(sentTypes)
    const payload = `${type}:${this.#made.length}`
    const event = { type, payload, ...(dice.happens(0.5) ? { eventId: payload } : {}) }
    this.#made.push(event)
    return event
  }
}

/** How many steps have a rollback, and how many rollbacks fail at least once. */
interface UndoRates {
  readonly undoable: number
  readonly failing: number
}

const seldomUndone: UndoRates = { undoable: 0.3, failing: 0.3 }
const oftenUndone: UndoRates = { undoable: 0.7, failing: 0.5 }

class ProgramMaker {
  readonly #dice: Dice
  readonly #children: "none" | "some" | "kept"
  readonly #undoRates: UndoRates
  #budget: number
  #labels = 0

  constructor(dice: Dice, budget: number, children: "none" | "some" | "kept", undoRates = seldomUndone) {
    this.#undoRates = undoRates
    this.#dice = dice
    this.#budget = budget
    this.#children = children
  }

  make(): Program {
    const nodes: Program[] = []
    while (this.#budget > 0) nodes.push(this.#node(3, false))
    return { kind: "seq", nodes }
  }

  /** Makes another program, with labels of its own. */
  more(budget: number): Program {
    this.#budget = budget
    return this.make()
  }

  #node(depth: number, isNested: boolean): Program {
    const dice = this.#dice
    this.#budget--
    const kind = depth <= 0 || this.#budget < 2 ? dice.pick(["step", "step", "sleep", "wait"] as const) : dice.pick(isNested ? nestedKinds : kinds)
    switch (kind) {
      case "step":
        return this.#step(depth, isNested)
      case "sleep":
        return this.#sleep()
      case "wait":
        return this.#wait()
      case "condition":
        return { kind, label: this.#label("h"), seen: dice.upTo(8), timeoutMs: dice.pick([0, 500, 3_000, 12_000]) }
      case "seq":
        return { kind, nodes: this.#some(depth, isNested) }
      case "try":
        return { kind, body: this.#node(depth - 1, isNested), handler: this.#node(depth - 1, isNested) }
      case "cut":
        return { kind, timer: dice.happens(0.5) ? this.#sleep() : this.#wait(), after: this.#node(depth - 1, isNested) }
      case "patch":
        return { kind, label: this.#label("p"), changed: this.#node(depth - 1, isNested), before: this.#node(depth - 1, isNested) }
      case "child":
        return this.#children !== "none" ? this.#child() : this.#step(depth, isNested)
      default:
        return { kind, branches: this.#some(depth, isNested), ...(isNested || this.#children === "kept" ? { isLoose: true } : {}) }
    }
  }

  #some(depth: number, isNested: boolean): Program[] {
    return Array.from({ length: 2 + this.#dice.upTo(2) }, () => this.#node(depth - 1, isNested))
  }

  #sleep(): Sleep {
    return { kind: "sleep", label: this.#label("s"), ms: this.#dice.pick([0, 1, 300, 1_000, 5_000, 12_000]) }
  }

  #wait(): Wait {
    const dice = this.#dice
    return {
      kind: "wait",
      label: this.#label("w"),
      event: dice.pick(eventTypes),
      ...(dice.happens(0.6) ? { timeoutMs: dice.pick([0, 500, 3_000, 12_000]) } : {}),
      ...(dice.happens(0.5) ? { fallback: "nothing" } : {}),
    }
  }

  #child(): Program {
    const dice = this.#dice
    const label = this.#label("c")
    return {
      kind: "child",
      label,
      program: new ProgramMaker(dice, 1 + dice.upTo(4), "none", this.#undoRates).make(),
      onParentEnd: dice.pick(["cancel", "terminate", "abandon"] as const),
      fate: dice.pick(["await", "await", "leave", "cancel"] as const),
      ...(dice.happens(0.4) ? { event: { type: dice.pick(sentTypes), payload: `from parent:${label}` } } : {}),
      ...(this.#children === "kept" ? { mayBeKept: true } : {}),
    }
  }

  #step(depth: number, isNested: boolean): Program {
    const dice = this.#dice
    const label = this.#label("d")
    const attemptsMax = 1 + dice.upTo(3)
    const base = { kind: "step", label, name: label, fails: 0, attemptsMax, latencyMs: 0, ...(isNested ? {} : this.#undo(label)) } as const
    if (dice.happens(0.1)) return { ...base, timeoutMs: 500, hangs: dice.happens(0.5) ? attemptsMax : attemptsMax - 1 }
    return {
      ...base,
      // The order of calls inside a step may differ when the step is entered again, so names must not repeat there.
      name: !isNested && dice.happens(0.2) ? "same" : label,
      fails: dice.happens(0.3) ? 1 + dice.upTo(3) : 0,
      latencyMs: dice.pick([0, 0, 0, 10, 400, 2_500]),
      ...(depth > 0 && dice.happens(0.25) ? { inner: this.#node(depth - 1, true) } : {}),
    }
  }

  #undo(label: string): Pick<Step, "undo"> {
    const dice = this.#dice
    const { undoable, failing } = this.#undoRates
    if (!dice.happens(undoable)) return {}
    const attemptsMax = 1 + dice.upTo(3)
    const fails = dice.happens(failing) ? 1 + dice.upTo(3) : 0
    return { undo: { kind: "step", label: `undo ${label}`, name: `undo ${label}`, fails, attemptsMax, latencyMs: dice.pick([0, 0, 300]) } }
  }

  #label(prefix: string): string {
    return `${prefix}${++this.#labels}`
  }
}

const nestedKinds = ["step", "step", "step", "sleep", "wait", "seq", "try", "all", "allSettled", "race", "race", "any", "cut"] as const
const kinds = [...nestedKinds, "child", "child", "patch", "condition"] as const

class Dice {
  readonly #random: SeededRandom

  constructor(seed: string) {
    this.#random = new SeededRandom(seed)
  }

  /** A whole number below the bound. */
  upTo(bound: number): number {
    return Math.floor(this.#random.next() * bound)
  }

  happens(rate: number): boolean {
    return this.#random.next() < rate
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.upTo(choices.length)] as T
  }

  list<T>(lengthMax: number, make: () => T): T[] {
    return Array.from({ length: this.upTo(lengthMax + 1) }, make)
  }
}
