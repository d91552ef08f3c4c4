import type { InterceptedStep } from "../../engine/settings.ts"

/**
 * Counts the effects of a run on the outside world: called step functions, and effects that fakes report. Effects with the same key count once,
 * because an outside service recognises the key.
 */
export class EffectLedger {
  /** Effects that happened in workflow code, outside any step. */
  readonly outsideSteps = new Set<string>()
  readonly #keyless = new Map<string, number>()
  readonly #keys = new Map<string, Set<string>>()

  call({ instance, id, context }: InterceptedStep): void {
    this.#add(`step "${id}" of "${instance}"`, context.idempotencyKey)
  }

  effect(name: string, key: string | undefined): void {
    const what = `effect "${name}"`
    if (key === undefined) this.#keyless.set(what, (this.#keyless.get(what) ?? 0) + 1)
    else this.#add(what, key)
  }

  get counts(): ReadonlyMap<string, number> {
    const counts = new Map([...this.#keys].map(([what, keys]) => [what, keys.size]))
    for (const [what, times] of this.#keyless) counts.set(what, (counts.get(what) ?? 0) + times)
    return counts
  }

  /** At least one of these effects had no key. */
  isKeyless(what: string): boolean {
    return this.#keyless.has(what)
  }

  #add(what: string, key: string): void {
    const keys = this.#keys.get(what)
    if (keys) keys.add(key)
    else this.#keys.set(what, new Set([key]))
  }
}
