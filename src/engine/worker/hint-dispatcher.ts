import type { Hint } from "../../ports/store.ts"
import type { EngineListener } from "../engine-listener.ts"
import type { ClaimingWorker } from "./claiming-worker.ts"

const anything: Hint = { work: true, ends: true, updatesAnswered: true, changed: true }

/**
 * Looks at what somebody else may have changed: what is run here, and what somebody here waits for. Neither waits for the other.
 * Whatever is told during a look is one more look.
 */
export class HintDispatcher {
  readonly #listeners: readonly EngineListener[]
  readonly #work: Lane
  readonly #waiters: Lane

  constructor(worker: Pick<ClaimingWorker, "look" | "hint">, listeners: readonly EngineListener[]) {
    this.#listeners = listeners
    this.#work = new Lane(async ({ work }) => (typeof work === "boolean" ? worker.look() : worker.hint(work)))
    this.#waiters = new Lane(async (hint) => {
      for (const listener of listeners) await listener.refresh?.(hint)
    })
  }

  async look(hint: Hint = anything): Promise<void> {
    for (const listener of this.#listeners) listener.onHint?.(hint)
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
  return {
    work: eitherOf(a.work, b.work),
    ends: eitherOf(a.ends, b.ends),
    updatesAnswered: a.updatesAnswered || b.updatesAnswered,
    changed: a.changed || b.changed,
  }
}

function eitherOf(a: boolean | readonly string[], b: boolean | readonly string[]): boolean | readonly string[] {
  if (a === true || b === true) return true
  if (a === false || b === false) return a || b
  return [...a, ...b]
}
