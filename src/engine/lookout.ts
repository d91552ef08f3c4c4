import type { Hint } from "../ports/store.ts"
import type { EngineParts } from "./engine-parts.ts"

const anything: Hint = { work: true, ends: true, answers: true, changed: true }

/** Looks at what somebody else may have changed: what is run here, and what somebody here waits for. Whatever is told during a look is one more look. */
export class Lookout {
  readonly #parts: () => EngineParts
  #told: Hint | undefined
  #looking: Promise<void> | undefined

  constructor(parts: () => EngineParts) {
    this.#parts = parts
  }

  look(hint: Hint = anything): Promise<void> {
    const { changes, scheduler } = this.#parts()
    if (hint.changed) changes.signal()
    // A schedule that waits for an instance is looked at where that one ends.
    if (hint.work) scheduler.wake()
    this.#told = this.#told ? both(this.#told, hint) : hint
    this.#looking ??= this.#lookAround().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookAround(): Promise<void> {
    const { worker, endings, answers } = this.#parts()
    for (let hint = this.#told; hint !== undefined; hint = this.#told) {
      this.#told = undefined
      if (hint.work) await worker.look()
      if (hint.ends !== false) await endings.check(hint.ends === true ? undefined : hint.ends)
      if (hint.answers) await answers.check()
    }
  }
}

function both(a: Hint, b: Hint): Hint {
  return { work: a.work || b.work, ends: bothEnds(a.ends, b.ends), answers: a.answers || b.answers, changed: a.changed || b.changed }
}

function bothEnds(a: Hint["ends"], b: Hint["ends"]): Hint["ends"] {
  if (a === true || b === true) return true
  if (a === false || b === false) return a || b
  return [...a, ...b]
}
