import type { DoAsk } from "./ask.ts"
import type { Payload } from "../values/value-codec.ts"
import type { Rollback, RollbackFunction, StepOptions } from "../workflow/context.ts"
import { rollbackId } from "../workflow/step-id.ts"

/**
 * What is to be undone if the run fails or is cancelled: the rollbacks of completed steps, in the order in which they completed. Each is
 * a step of its own, so it is durable, retried, and done once.
 */
export class RollbackStack {
  readonly #completed: Undoing[] = []
  readonly #failed: string[] = []

  get size(): number {
    return this.#completed.length
  }

  /** Steps that are not undone: those that could not be, then those whose turn has not come or is not over. */
  get left(): readonly string[] {
    return [...this.#failed, ...this.#completed.map(({ id }) => id).toReversed()]
  }

  add(id: string, result: Payload, rollback: Rollback<never>): void {
    this.#completed.push({ id, result, rollback })
  }

  /** Newest first; one that fails does not keep the others from running. Answers the steps that could not be undone. */
  async unwind(ask: (request: DoAsk) => Promise<unknown>): Promise<readonly string[]> {
    for (let step = this.#completed.at(-1); step !== undefined; step = this.#completed.at(-1)) {
      try {
        await ask(rollbackAsk(step))
      } catch {
        this.#failed.push(step.id)
      }
      this.#completed.pop()
    }
    return this.#failed
  }
}

interface Undoing {
  readonly id: string
  readonly result: Payload
  readonly rollback: Rollback<never>
}

function rollbackAsk({ id, result, rollback }: Undoing): DoAsk {
  const run: RollbackFunction<never> = typeof rollback === "function" ? rollback : rollback.run
  const own: StepOptions | undefined = typeof rollback === "function" ? undefined : rollback
  // What undoes it knows what it gave.
  const options = result.isSensitive ? { sensitive: true, ...own } : own
  return { kind: "do", id: rollbackId(id), fn: (step) => run(result.decode() as never, step), options }
}
