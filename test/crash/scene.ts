import { setTimeout as delay } from "node:timers/promises"
import type { Context, RetryOptions, StepContext } from "../../src/index.ts"
import type { Given, Ledger } from "./ledger.ts"
import type { PhaseMarks } from "./phases.ts"

/** The result of a step's function: a predictable value, and a nonce that tells which execution was recorded. */
export interface Outcome {
  readonly value: number
  readonly nonce: string
}

export interface Act {
  readonly name: string
  readonly ms: number
  readonly value: number
  /** Attempts up to this number throw. */
  readonly failures?: number
  readonly retry?: RetryOptions
}

/** The result of a workflow of this test. */
export interface SceneResult {
  readonly value: number
  readonly seen: Given
}

/**
 * One execution of a workflow, live or replayed, that records which results its code has seen. All results known when the code
 * asks for a step go into the ledger when the function of that step begins. A later execution must never see other results.
 */
export class Scene {
  readonly ctx: Context
  readonly ledger: Ledger
  readonly marks: PhaseMarks
  readonly #seen: Record<string, unknown> = {}

  constructor(ctx: Context, ledger: Ledger, marks: PhaseMarks) {
    this.ctx = ctx
    this.ledger = ledger
    this.marks = marks
  }

  get seen(): Given {
    return { ...this.#seen }
  }

  async step(act: Act): Promise<number> {
    const outcome = await this.ctx.do(act.name, this.fn(act.name, act, this.seen), act.retry === undefined ? {} : { retry: act.retry })
    this.#seen[act.name] = outcome.nonce
    return outcome.value
  }

  async sleep(name: string, ms: number): Promise<void> {
    await this.ctx.sleep(name, ms)
    this.#seen[name] = "slept"
  }

  async event(name: string, type: string): Promise<number> {
    const payload = (await this.ctx.waitForEvent(name, { type })) as number
    this.#seen[name] = payload
    return payload
  }

  /** Records the outcome of something that had two possible outcomes. */
  saw(point: string, value: unknown): void {
    this.ledger.write({ what: "saw", instance: this.ctx.instance.id, point, value })
    this.#seen[point] = value
  }

  result(value: number): SceneResult {
    return { value, seen: this.seen }
  }

  /** Makes the function of a step, which writes its calls to the ledger. */
  fn(step: string, act: Omit<Act, "name">, given: Given, inside?: (context: StepContext) => Promise<number>) {
    return async (context: StepContext): Promise<Outcome> => {
      const { attempt, idempotencyKey: key } = context
      const { ledger, marks } = this
      const instance = this.ctx.instance.id
      ledger.write({ what: "begin", instance, step, attempt, key, given })
      marks.enter("step")
      try {
        if (act.ms > 0) await delay(act.ms)
        const nested = inside === undefined ? 0 : await inside(context)
        const nonce = ledger.nonce()
        if (attempt <= (act.failures ?? 0)) {
          ledger.write({ what: "fail", instance, step, key, nonce })
          throw new Error(nonce)
        }
        const value = act.value + nested
        ledger.write({ what: "end", instance, step, key, nonce, value })
        return { value, nonce }
      } finally {
        marks.leave("step")
      }
    }
  }
}
