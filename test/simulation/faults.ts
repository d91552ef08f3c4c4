/** The plan of faults. All processes of a simulation share it, so that crash points are counted over all processes. */
import type { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import type { Fault, FaultSource, StoreOperation } from "../../src/testing/faulty-store.ts"
import type { Statistics } from "./statistics.ts"

export type CrashPhase = "before" | "after" | "acknowledged"

export const crashPhases: readonly CrashPhase[] = ["before", "after", "acknowledged"]

/** The probability of each fault, per call. */
export interface FaultRates {
  readonly commitError: number
  readonly deliverError: number
  readonly claimError: number
  readonly readError: number
  readonly delay: number
  readonly delayMsMax: number
  readonly renewalLost: number
  readonly renewalLate: number
  readonly hintLost: number
}

export const noFaults: FaultRates = {
  commitError: 0,
  deliverError: 0,
  claimError: 0,
  readError: 0,
  delay: 0,
  delayMsMax: 0,
  renewalLost: 0,
  renewalLate: 0,
  hintLost: 0,
}

export interface FaultPlan {
  /** Crash at the n-th write, counted from 0 over all processes. */
  readonly crashes: ReadonlyMap<number, CrashPhase>
  readonly rates: FaultRates
  /** The simulation has schedules, so reads of schedules fail too. */
  readonly hasSchedules?: boolean
  /** The fault of the n-th call of an operation, counted from 1: "claim 2". */
  readonly scripted?: Readonly<Record<string, Fault>>
}

const writes: ReadonlySet<StoreOperation> = new Set<StoreOperation>(["commit", "deliver", "deliverOrCreate", "schedules.write"])
const scheduleReads: ReadonlySet<StoreOperation> = new Set<StoreOperation>(["schedules.get", "schedules.input", "schedules.due", "schedules.nextDueAt"])
const reads: ReadonlySet<StoreOperation> = new Set<StoreOperation>(["readJournal", "readInbox", "unread", "nextDueAt", "get"])

export class PlannedFaults implements FaultSource {
  /** The number of writes so far, at which crashes are planned. */
  writes = 0
  isQuiet = false
  readonly #plan: FaultPlan
  readonly #random: SeededRandom
  readonly #statistics: Statistics
  readonly #calls = new Map<StoreOperation, number>()

  constructor(plan: FaultPlan, random: SeededRandom, statistics: Statistics) {
    this.#plan = plan
    this.#random = random
    this.#statistics = statistics
  }

  next(operation: StoreOperation): Fault | undefined {
    const fault = this.#next(operation)
    if (fault !== undefined) this.#statistics.count(fault.kind === "ignored" ? `${operation} ignored` : `${kindOf(operation)} ${fault.kind} ${fault.when}`)
    return fault
  }

  isHintLost(): boolean {
    const isLost = this.#happens(this.#plan.rates.hintLost)
    if (isLost) this.#statistics.count("hint lost")
    return isLost
  }

  #next(operation: StoreOperation): Fault | undefined {
    const { crashes, rates, scripted } = this.#plan
    const nth = (this.#calls.get(operation) ?? 0) + 1
    this.#calls.set(operation, nth)
    const fault = scripted?.[`${operation} ${nth}`]
    if (fault !== undefined) return fault
    if (writes.has(operation)) {
      const when = crashes.get(this.writes++)
      if (when !== undefined) return { kind: "crash", when }
      const errors = operation === "commit" || operation === "schedules.write" ? rates.commitError : rates.deliverError
      return this.#error(errors) ?? this.#delay(rates.delay)
    }
    if (operation === "renew") {
      if (this.#happens(rates.renewalLost)) return this.#happens(0.5) ? { kind: "ignored" } : { kind: "error", when: "before" }
      return this.#delay(rates.renewalLate)
    }
    if (operation === "claim") return this.#error(rates.claimError) ?? this.#delay(rates.delay)
    const isRead = reads.has(operation) || (this.#plan.hasSchedules === true && scheduleReads.has(operation))
    return isRead ? (this.#error(rates.readError) ?? this.#delay(rates.delay)) : undefined
  }

  #error(rate: number): Fault | undefined {
    return this.#happens(rate) ? { kind: "error", when: this.#happens(0.5) ? "before" : "after" } : undefined
  }

  #delay(rate: number): Fault | undefined {
    if (!this.#happens(rate)) return undefined
    return { kind: "delay", when: this.#happens(0.5) ? "before" : "after", ms: Math.floor(this.#random.next() * this.#plan.rates.delayMsMax) }
  }

  #happens(rate: number): boolean {
    return rate > 0 && !this.isQuiet && this.#random.next() < rate
  }
}

function kindOf(operation: StoreOperation): string {
  return operation === "deliverOrCreate" ? "deliver" : reads.has(operation) || scheduleReads.has(operation) ? "read" : operation
}
