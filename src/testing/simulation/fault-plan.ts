import { SeededRandom } from "../../core/execution/seeded-random.ts"
import type { Fault, FaultSource, StoreOperation } from "../faulty-store.ts"

type CrashPhase = "before" | "after" | "acknowledged"

/** The names of crash phases in the text of a seed. */
const crashPhases = { before: "before", after: "after", "soon after": "acknowledged" } as const
const phases = Object.values(crashPhases)

/** Identifies a run: the faults of the run follow from its seed. A number stands for a random mixture of faults. */
export type Seed =
  | number
  | `crash ${keyof typeof crashPhases} write ${number}`
  | `lose the answer to write ${number}`
  | "evict at every rest"
  | "send every event twice"
  | "send every event late"

/** The kinds of faults, with times in milliseconds. */
export interface FaultKinds {
  readonly crashes: boolean
  readonly lostAcknowledgements: boolean
  readonly evictions: boolean
  readonly duplicateEvents: boolean
  readonly delayEventsMs: number
  readonly downtimeMs: number
}

/** The faults of one run. Writes count from 1. */
export interface FaultPlan {
  readonly crashes: ReadonlyMap<number, CrashPhase>
  isAnswerLost(write: number): boolean
  isEvicted(): boolean
  /** The delays of an event in milliseconds: of the first sending, and of the second sending if the event is sent twice. */
  eventDelays(): { readonly first: number; readonly again: number | undefined }
  downtimeMs(): number
}

export const noFaults: FaultPlan = {
  crashes: new Map(),
  isAnswerLost: () => false,
  isEvicted: () => false,
  eventDelays: () => ({ first: 0, again: undefined }),
  downtimeMs: () => 0,
}

/** The seeds of all single faults: each kind of fault once at every write of a run. */
export function systematicSeeds(kinds: FaultKinds, writes: number, hasEvents: boolean): readonly Seed[] {
  const seeds: Seed[] = []
  for (let write = 1; write <= writes; write++) {
    if (kinds.crashes) for (const phase of ["before", "after", "soon after"] as const) seeds.push(`crash ${phase} write ${write}`)
    if (kinds.lostAcknowledgements) seeds.push(`lose the answer to write ${write}`)
  }
  if (kinds.evictions) seeds.push("evict at every rest")
  if (kinds.duplicateEvents && hasEvents) seeds.push("send every event twice")
  if (kinds.delayEventsMs > 0 && hasEvents) seeds.push("send every event late")
  return seeds
}

/** Returns undefined if the text is not a seed. */
export function faultPlan(seed: Seed, kinds: FaultKinds, writes: number): FaultPlan | undefined {
  if (typeof seed === "number") return randomPlan(new SeededRandom(`simulate ${seed}`), kinds, writes)
  if (seed === "evict at every rest") return { ...noFaults, isEvicted: () => true }
  if (seed === "send every event twice") return { ...noFaults, eventDelays: () => ({ first: 0, again: 0 }) }
  if (seed === "send every event late") return { ...noFaults, eventDelays: () => ({ first: kinds.delayEventsMs, again: undefined }) }
  const lost = /^lose the answer to write (\d+)$/.exec(seed)
  if (lost) return { ...noFaults, isAnswerLost: (write) => write === Number(lost[1]) }
  const crash = /^crash (before|after|soon after) write (\d+)$/.exec(seed)
  return crash ? { ...noFaults, crashes: new Map([[Number(crash[2]), crashPhases[crash[1] as keyof typeof crashPhases]]]) } : undefined
}

const crashesMax = 3
const lossRate = 0.1
const evictionRate = 0.3
const againMsMax = 1_000

function randomPlan(random: SeededRandom, kinds: FaultKinds, writes: number): FaultPlan {
  const upTo = (bound: number) => Math.floor(random.next() * bound)
  const crashes = new Map<number, CrashPhase>()
  // Earlier faults cause extra writes, so a random run may have more writes than the run without faults.
  if (kinds.crashes) for (let left = 1 + upTo(crashesMax); left > 0; left--) crashes.set(1 + upTo(writes + 2), phases[upTo(3)] ?? "before")
  const loses = kinds.lostAcknowledgements && random.next() < 0.5
  return {
    crashes,
    isAnswerLost: () => loses && random.next() < lossRate,
    isEvicted: () => kinds.evictions && random.next() < evictionRate,
    eventDelays: () => {
      const first = upTo(kinds.delayEventsMs + 1)
      return { first, again: kinds.duplicateEvents && random.next() < 0.5 ? first + upTo(againMsMax) : undefined }
    },
    downtimeMs: () => upTo(kinds.downtimeMs + 1),
  }
}

const writing: ReadonlySet<StoreOperation> = new Set<StoreOperation>(["commit", "deliver", "deliverOrCreate"])

/** Applies the plan to the calls of the store, and records the faults that happened. */
export class PlannedFaults implements FaultSource {
  writes = 0
  /** The faults that happened, in words and in order. */
  readonly happened: string[] = []
  readonly #plan: FaultPlan

  constructor(plan: FaultPlan) {
    this.#plan = plan
  }

  next(operation: StoreOperation): Fault | undefined {
    if (!writing.has(operation)) return undefined
    const write = ++this.writes
    const when = this.#plan.crashes.get(write)
    if (when !== undefined) {
      this.happened.push(`the process died ${crashWords(when, write)}`)
      return { kind: "crash", when }
    }
    if (!this.#plan.isAnswerLost(write)) return undefined
    this.happened.push(`the answer to write ${write} was lost`)
    return { kind: "error", when: "after" }
  }

  isHintLost(): boolean {
    return false
  }
}

function crashWords(when: CrashPhase, write: number): string {
  if (when === "before") return `before write ${write}: nothing of it was stored`
  if (when === "after") return `after write ${write}: it was stored, and nobody was told`
  return `soon after write ${write}: it was stored, and what followed at once was done and lost`
}
