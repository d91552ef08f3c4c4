import { unlimited } from "../core/flow-options.ts"
import type { LimitState, WorkflowLimits } from "../ports/flow-control.ts"

/** What the flow control of every store has in common, beside the algorithm. */

/** At most so many holders of a limit are named. */
export const holdersNamedMax = 5

export interface LimitNumbers {
  readonly max: number
  readonly perMs?: number
}

/** Limits that a workflow has had and does not declare any more: they let everybody in. */
export function removedLimits(known: readonly string[], declared: WorkflowLimits["limits"]): WorkflowLimits["limits"] {
  return known.filter((name) => !declared.some((limit) => limit.name === name)).map((name) => ({ name, max: unlimited }))
}

export function limitState(name: string, declared: LimitNumbers, override: LimitNumbers | undefined): LimitState {
  return override === undefined ? { name, ...declared } : { name, ...override, declared }
}

/** Tells whoever listens which instances were let in, after the transaction. */
export class AdmissionNews {
  readonly #listeners = new Set<(ids: readonly string[]) => void>()

  listen(listener: (ids: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(ids: readonly string[]): void {
    if (ids.length > 0) for (const listener of this.#listeners) listener(ids)
  }
}
