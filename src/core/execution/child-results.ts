import { childError } from "../journal/ending-error.ts"
import type { EntryOf } from "../journal/journal.ts"
import { Deferred } from "./deferred.ts"

/** The results of the children that workflow code has started. The code gets the same promise before and after the child ends. */
export class ChildResults {
  readonly #results = new Map<string, ChildResult>()
  /** How many children that have not ended are awaited. */
  #awaited = 0

  /** Whether the code awaits a child that has not ended. */
  get isAwaited(): boolean {
    return this.#awaited > 0
  }

  /** The result of the child that this step has started. */
  of(step: string): Promise<unknown> {
    const result = this.#at(step)
    if (!result.isAwaited && !result.isSettled) this.#awaited++
    result.isAwaited = true
    return result.promise
  }

  ended(entry: EntryOf<"child.ended">): void {
    const result = this.#at(entry.id)
    if (result.isAwaited && !result.isSettled) this.#awaited--
    if (entry.status === "completed") result.resolve(entry.value.decode())
    else result.reject(childError(entry))
  }

  rejectAwaited(error: unknown): void {
    for (const result of this.#results.values()) if (result.isAwaited) result.reject(error)
    this.#awaited = 0
  }

  #at(step: string): ChildResult {
    let result = this.#results.get(step)
    if (result === undefined) this.#results.set(step, (result = new ChildResult()))
    return result
  }
}

class ChildResult extends Deferred {
  isAwaited = false
}
