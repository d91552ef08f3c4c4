import type { StepContext } from "../core/context.ts"
import { isRollback } from "../core/step-id.ts"
import type { InterceptedStep } from "../engine/settings.ts"

/** What a step does instead: an error is thrown, a function is called, any other value is the result. */
export type Mock = Error | ((context: StepContext) => unknown) | string | number | boolean | bigint | object | null | undefined

/** Replacements of steps, by workflow and by the step's name or id; the last one added wins. */
export class StepMocks {
  readonly #mocks: { readonly workflow: string; readonly step: string; readonly mock: Mock; left: number }[] = []

  add(workflow: string, step: string, mock: Mock, times: number): void {
    this.#mocks.unshift({ workflow, step, mock, left: times })
  }

  intercept(step: InterceptedStep, next: () => unknown): unknown {
    const found = this.#mocks.find(({ workflow, step: name, left }) => left > 0 && workflow === step.workflow && isMeant(name, step))
    if (!found) return next()
    found.left--
    const { mock } = found
    if (mock instanceof Error) throw mock
    return typeof mock === "function" ? (mock as (context: StepContext) => unknown)(step.context) : mock
  }
}

/** What undoes a step has its name, and is meant only by its id. */
function isMeant(name: string, step: InterceptedStep): boolean {
  return name === step.id || (name === step.name && !isRollback(step.id))
}
