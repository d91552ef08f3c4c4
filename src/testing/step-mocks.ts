import type { StepContext } from "../core/workflow/context.ts"
import { PerdureError } from "../core/errors.ts"
import { isRollback } from "../core/workflow/step-id.ts"
import type { InterceptedStep } from "../engine/settings.ts"
import { nearestName } from "../core/arguments/nearest-name.ts"

/** The replacement of a step's function: an error is thrown, a function is called, and any other value is the result. */
export type Mock = Error | ((context: StepContext) => unknown) | string | number | boolean | bigint | object | null | undefined

/** Options of `mockStep`. */
export interface MockOptions {
  /** The number of attempts that are replaced; later attempts call the step's own function. Default: all attempts. */
  readonly times?: number
  /** The workflow need not reach the step. Without this option, `close()` throws if no instance asked for the step. */
  readonly optional?: boolean
}

/** Replacements of steps, by workflow and by the step's name or id. The newest replacement wins. */
export class StepMocks {
  readonly #mocks: StepMock[] = []
  /** Names and ids of the steps that ran, by workflow. */
  readonly #asked = new Map<string, Set<string>>()

  add(workflow: string, step: string, mock: Mock, { times = Infinity, optional = false }: MockOptions): void {
    this.#mocks.unshift({ workflow, step, mock, left: times, optional })
  }

  intercept(step: InterceptedStep, next: () => unknown): unknown {
    this.#note(step)
    const found = this.#mocks.find(({ workflow, step: name, left }) => left > 0 && workflow === step.workflow && isMeant(name, step))
    if (!found) return next()
    found.left--
    const { mock } = found
    if (mock instanceof Error) throw mock
    return typeof mock === "function" ? (mock as (context: StepContext) => unknown)(step.context) : mock
  }

  /** Throws if instances of a workflow ran and none asked for a replaced step: most likely the name of the step is wrong. */
  requireKnown(): void {
    for (const { workflow, step, optional } of this.#mocks.splice(0)) {
      const asked = this.#asked.get(workflow)
      if (optional || asked === undefined || asked.has(step)) continue
      const similar = nearestName(step, asked)
      const names = [...asked].map((name) => JSON.stringify(name)).join(", ")
      const meant = similar === undefined ? "." : `; did you mean ${JSON.stringify(similar)}?`
      throw new PerdureError(
        "UNKNOWN_STEP",
        `mockStep: no instance of workflow "${workflow}" asked for step ${JSON.stringify(step)}${meant} The steps that ran are ${names}. Say { optional: true } if the workflow need not come to this step`,
        { details: { workflow, step } },
      )
    }
  }

  #note({ workflow, id, name }: InterceptedStep): void {
    const asked = this.#asked.get(workflow) ?? new Set()
    this.#asked.set(workflow, asked.add(id).add(name))
  }
}

interface StepMock {
  readonly workflow: string
  readonly step: string
  readonly mock: Mock
  readonly optional: boolean
  left: number
}

/** A rollback has the name of its step, so a replacement applies to a rollback only by id. */
function isMeant(name: string, step: InterceptedStep): boolean {
  return name === step.id || (name === step.name && !isRollback(step.id))
}
