import type { InstanceRunner } from "../runner/instance-runner.ts"
import type { ResidentSet } from "./resident-set.ts"
import type { EngineSettings } from "../settings.ts"

/** Busy instances per step slot: while some instances write their turns, others can run their steps. */
const busyPerStep = 4

/**
 * The instances that a claiming worker has in memory. It says how many more the worker may claim, and which instances to evict: at most `residentMax`
 * instances and `residentBytesMax` bytes of journal text stay, and the instances that have been idle longest leave first.
 */
export class ResidentInstances implements ResidentSet {
  readonly #settings: EngineSettings
  readonly #expected: () => number
  readonly #runners = new Map<string, InstanceRunner>()
  /** The ids of all instances that were ever resident, if the worker has a budget of instances. */
  readonly #admitted = new Set<string>()

  /** `expected`: how many instances are being claimed or loaded. Room is reserved for them. */
  constructor(settings: EngineSettings, expected: () => number) {
    this.#settings = settings
    this.#expected = expected
  }

  get size(): number {
    return this.#runners.size
  }

  get room(): number {
    const { residentMax, budget } = this.#settings
    const left = Math.min(residentMax - this.#runners.size, (budget?.instancesMax ?? Infinity) - this.#admitted.size)
    return Math.max(0, left - this.#expected())
  }

  /** How many instances were ever resident; 0 without a budget. */
  get admittedCount(): number {
    return this.#admitted.size
  }

  get(id: string): InstanceRunner | undefined {
    return this.#runners.get(id)
  }

  add(runner: InstanceRunner): void {
    this.#runners.set(runner.id, runner)
    if (this.#settings.budget) this.#admitted.add(runner.id)
  }

  remove(runner: InstanceRunner): boolean {
    return this.#runners.get(runner.id) === runner && this.#runners.delete(runner.id)
  }

  values(): readonly InstanceRunner[] {
    return [...this.#runners.values()]
  }

  /** The running attempts of all instances. */
  get attempts(): number {
    let count = 0
    for (const runner of this.values()) count += runner.attempts
    return count
  }

  /**
   * How many more instances to claim, if the number of concurrent steps is limited. Instances whose steps could not run soon stay in the store: other
   * workers can claim them, and instances of a higher priority can go first. The allowance is 0 while it would be small, so that the worker does not
   * make one claim per instance. It is never large either, so that workers that finish at the same time share what is left.
   */
  get claimAllowance(): number {
    let allowance = busyPerStep * this.#settings.concurrentStepsMax
    if (allowance < Infinity) for (const runner of this.#runners.values()) if (!runner.isAtRest) allowance--
    const { concurrentStepsMax } = this.#settings
    if (allowance < concurrentStepsMax) return 0
    return Math.min(allowance, Math.max(concurrentStepsMax, busyPerStep))
  }

  /** The instances that should leave memory: idle for long, or at rest while others need the room. `wanted`: how many places are needed at least. */
  evictionCandidates(now: number, wanted: number): readonly InstanceRunner[] {
    const { residentIdleMs, residentBytesMax, residentMax } = this.#settings
    const oldest = this.values()
      .filter((runner) => runner.isAtRest)
      .toSorted((a, b) => a.activeAt - b.activeAt)
    let excess = Math.max(wanted, this.#runners.size - residentMax)
    let text = 0
    for (const runner of this.values()) text += runner.textLength
    // Instances with a step that waits for its nested steps leave last, and only if others need the room: the step's function would have to run again.
    return [...oldest.filter((runner) => runner.idle), ...oldest.filter((runner) => !runner.idle)].filter((runner) => {
      const isLong = runner.idle && now - runner.activeAt >= residentIdleMs
      if (excess <= 0 && text <= residentBytesMax && !isLong) return false
      excess--
      text -= runner.textLength
      return true
    })
  }
}
