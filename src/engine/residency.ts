import type { InstanceRunner } from "./instance-runner.ts"
import type { EngineSettings } from "./settings.ts"

/** The instances in memory, within bounds of number and of journal text; those idle longest leave first. */
export class Residency {
  readonly #settings: EngineSettings
  readonly #runners = new Map<string, InstanceRunner>()

  constructor(settings: EngineSettings) {
    this.#settings = settings
  }

  get size(): number {
    return this.#runners.size
  }

  /** How many more may come. */
  get room(): number {
    return Math.max(0, this.#settings.residentMax - this.#runners.size)
  }

  get(id: string): InstanceRunner | undefined {
    return this.#runners.get(id)
  }

  add(runner: InstanceRunner): void {
    this.#runners.set(runner.id, runner)
  }

  /** False if it was not there, or another runner has taken its place. */
  remove(runner: InstanceRunner): boolean {
    return this.#runners.get(runner.id) === runner && this.#runners.delete(runner.id)
  }

  values(): IterableIterator<InstanceRunner> {
    return this.#runners.values()
  }

  /** Attempts under way, of all instances. */
  get attempts(): number {
    let count = 0
    for (const runner of this.#runners.values()) count += runner.attempts
    return count
  }

  /** Those that should leave: idle for long, or idle while there is no room for others (`wanted` of them, oldest first). */
  surplus(now: number, wanted: number): readonly InstanceRunner[] {
    const { residentIdleMs, residentBytesMax, residentMax } = this.#settings
    const oldest = [...this.#runners.values()].filter((runner) => runner.isAtRest).toSorted((a, b) => a.activeAt - b.activeAt)
    let excess = Math.max(wanted, this.#runners.size - residentMax)
    let text = 0
    for (const runner of this.#runners.values()) text += runner.textLength
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
