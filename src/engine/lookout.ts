import type { Hint } from "../ports/store.ts"
import type { EngineParts } from "./engine-parts.ts"

const anything: Hint = { work: true, ends: true, answers: true, changed: true }

/**
 * Looks at what somebody else may have changed: what is run here, and what somebody here waits for. Neither waits for the other.
 * Whatever is told during a look is one more look.
 */
export class Lookout {
  readonly #parts: () => EngineParts
  readonly #work: Lane
  readonly #waiters: Lane

  constructor(parts: () => EngineParts) {
    this.#parts = parts
    this.#work = new Lane(async () => parts().worker.look())
    this.#waiters = new Lane(async ({ ends, answers }) => {
      if (ends !== false) await parts().endings.check(ends === true ? undefined : ends)
      if (answers) await parts().answers.check()
    })
  }

  async look(hint: Hint = anything): Promise<void> {
    const { changes, scheduler } = this.#parts()
    if (hint.changed) changes.signal()
    // A schedule that waits for an instance is looked at where that one ends.
    if (hint.work) scheduler.wake()
    await Promise.all([hint.work ? this.#work.tell(hint) : undefined, this.#waiters.tell(hint)])
  }
}

/** One look at a time. */
class Lane {
  readonly #look: (hint: Hint) => Promise<void>
  #told: Hint | undefined
  #looking: Promise<void> | undefined

  constructor(look: (hint: Hint) => Promise<void>) {
    this.#look = look
  }

  tell(hint: Hint): Promise<void> {
    this.#told = this.#told ? both(this.#told, hint) : hint
    this.#looking ??= this.#lookAround()
    return this.#looking
  }

  async #lookAround(): Promise<void> {
    try {
      for (let hint = this.#told; hint !== undefined; hint = this.#told) {
        this.#told = undefined
        await this.#look(hint)
      }
    } finally {
      // At once, and not when the promise is settled: what is told in between would wait for a look that is over.
      this.#looking = undefined
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
