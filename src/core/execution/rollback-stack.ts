import type { DoAsk } from "./ask.ts"
import type { OpenAsk } from "./open-asks.ts"
import type { Payload } from "../values/value-codec.ts"
import type { Asks, Rollback, RollbackContext, RollbackFunction, StepContext, StepOptions } from "../workflow/context.ts"
import { rollbackId } from "../workflow/step-id.ts"
import type { RollbackPolicy } from "../workflow/workflow.ts"

/**
 * The steps with rollbacks, which run if the workflow fails or is cancelled. Each rollback is a step of its own, so it is durable, is retried, and
 * completes once. The policy of the workflow decides which steps are in the stack:
 *
 *   of: "completed"   steps that have completed, in the order in which they completed
 *   of: "started"     every step that was started, in the order in which they started; one that did not complete has no result
 */
export class RollbackStack {
  readonly #policy: RollbackPolicy
  readonly #steps = new Map<string, UndoableStep>()
  readonly #failed: string[] = []

  constructor(policy: RollbackPolicy = {}) {
    this.#policy = policy
  }

  get size(): number {
    return this.#steps.size
  }

  /** Steps that are not rolled back: first those whose rollback failed, then those whose rollback has not ended. */
  get notRolledBack(): readonly string[] {
    return [...this.#failed, ...[...this.#steps.keys()].toReversed()]
  }

  /** The step is recorded as started. */
  started(ask: OpenAsk): void {
    this.#steps.set(ask.request.id, { ask, result: undefined })
  }

  completed(ask: OpenAsk, result: Payload): void {
    this.#steps.set(ask.request.id, { ask, result })
  }

  /** Runs the rollbacks, newest step first. Returns the steps that are not rolled back. */
  async unwind(submit: (request: DoAsk) => Promise<unknown>, error: unknown): Promise<readonly string[]> {
    for (const [id, step] of [...this.#steps].toReversed()) {
      try {
        await submit(rollbackAsk(id, step, error))
        this.#steps.delete(id)
      } catch {
        this.#failed.push(id)
        this.#steps.delete(id)
        if (this.#policy.onFailure === "stop") break
      }
    }
    return this.notRolledBack
  }
}

export function isUndoable({ request }: OpenAsk): boolean {
  return request.kind === "do" && request.options?.rollback !== undefined
}

interface UndoableStep {
  readonly ask: OpenAsk
  /** Undefined: the step did not complete. */
  readonly result: Payload | undefined
}

function rollbackAsk(id: string, { ask, result }: UndoableStep, error: unknown): DoAsk {
  const { rollback, sensitive } = (ask.request as DoAsk).options as { rollback: Rollback<never>; sensitive?: boolean }
  const run: RollbackFunction<never> = typeof rollback === "function" ? rollback : rollback.run
  const given: StepOptions | undefined = typeof rollback === "function" ? undefined : rollback
  // A rollback gets the result of its step, so it is as sensitive as that.
  const options = sensitive || result?.isSensitive ? { sensitive: true, ...given } : given
  return { kind: "do", id: rollbackId(id), fn: (step) => run(result?.decode() as never, new RollbackStepContext(step, error, ask.attempts)), options }
}

/** The context of a rollback: the context of a step, and facts about the step that it undoes. */
class RollbackStepContext implements RollbackContext {
  readonly error: unknown
  readonly attempts: number
  readonly #step: StepContext

  constructor(step: StepContext, error: unknown, attempts: number) {
    this.#step = step
    this.error = error
    this.attempts = attempts
  }

  get attempt(): number {
    return this.#step.attempt
  }

  get idempotencyKey(): string {
    return this.#step.idempotencyKey
  }

  get signal(): AbortSignal {
    return this.#step.signal
  }

  get step(): Asks {
    return this.#step.step
  }
}
