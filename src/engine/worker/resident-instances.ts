import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { ResidentSet } from "./resident-set.ts"
import type { EngineSettings } from "../settings.ts"

/** Instances at work for each step that may run: while some write what they did, others have their steps run. */
const busyPerStep = 4

/** The instances in memory, within bounds of number and of journal text; those idle longest leave first. */
export class ResidentInstances implements ResidentSet {
  readonly #settings: EngineSettings
  readonly #expected: () => number
  readonly #places = new Map<string, Place>()
  /** All that were ever here, where that is counted. */
  readonly #admitted = new Set<string>()

  /** `expected`: how many are being claimed, or on their way into memory. Places are kept for them. */
  constructor(settings: EngineSettings, expected: () => number) {
    this.#settings = settings
    this.#expected = expected
  }

  get size(): number {
    return this.#places.size
  }

  /** How many more may come. */
  get room(): number {
    const { residentMax, budget } = this.#settings
    const left = Math.min(residentMax - this.#places.size, (budget?.instancesMax ?? Infinity) - this.#admitted.size)
    return Math.max(0, left - this.#expected())
  }

  /** How many were here, where there is a budget of them. */
  get admitted(): number {
    return this.#admitted.size
  }

  get(id: string): InstanceRunner | undefined {
    return this.#places.get(id)?.runner
  }

  add(runner: InstanceRunner): void {
    this.#places.set(runner.id, { runner })
    if (this.#settings.budget) this.#admitted.add(runner.id)
  }

  /** False if it was not there, or another runner has taken its place. */
  remove(runner: InstanceRunner): boolean {
    const place = this.#places.get(runner.id)
    if (place?.runner !== runner) return false
    place.runner = undefined
    return this.#places.delete(runner.id)
  }

  values(): readonly InstanceRunner[] {
    return [...this.#places.values()].flatMap(({ runner }) => runner ?? [])
  }

  /** Attempts under way, of all instances. */
  get attempts(): number {
    let count = 0
    for (const runner of this.values()) count += runner.attempts
    return count
  }

  /**
   * How many more to claim where only so many steps run at a time: what could not be done soon is left to other workers, and to what comes
   * with a higher priority. None while they would be few, so that there are not as many claims as instances; and not all at once, so that workers
   * who are done at the same time share what is left.
   */
  get claimAllowance(): number {
    let share = busyPerStep * this.#settings.concurrentStepsMax
    if (share < Infinity) for (const { runner } of this.#places.values()) if (runner && !runner.isAtRest) share--
    const { concurrentStepsMax } = this.#settings
    if (share < concurrentStepsMax) return 0
    return Math.min(share, Math.max(concurrentStepsMax, busyPerStep))
  }

  /** Those that should leave: idle for long, or idle while there is no room for others (`wanted` of them, oldest first). */
  evictionCandidates(now: number, wanted: number): readonly InstanceRunner[] {
    const { residentIdleMs, residentBytesMax, residentMax } = this.#settings
    const oldest = this.values()
      .filter((runner) => runner.isAtRest)
      .toSorted((a, b) => a.activeAt - b.activeAt)
    let excess = Math.max(wanted, this.#places.size - residentMax)
    let text = 0
    for (const runner of this.values()) text += runner.textLength
    // Those with functions at rest inside a step go only where others need the room: they are to be entered again.
    return [...oldest.filter((runner) => runner.idle), ...oldest.filter((runner) => !runner.idle)].filter((runner) => {
      const isLong = runner.idle && now - runner.activeAt >= residentIdleMs
      if (excess <= 0 && text <= residentBytesMax && !isLong) return false
      excess--
      text -= runner.textLength
      return true
    })
  }
}

/**
 * A map of V8 that grows, or that many entries have left, moves into a new table, and the old one keeps what it held and the way to the new
 * one. Once collected into the old generation it is a chain that keeps all who were ever here from the small collections. So it leads
 * to places only, which are left empty.
 */
interface Place {
  runner: InstanceRunner | undefined
}
