import type { StepContext } from "../../core/workflow/context.ts"
import type { MockedStep } from "../step-mocks.ts"

/** What the attempts of one step do in place of its callback: errors and timeouts first, then the result. */
export class StepScript {
  readonly #failures = new Map<number, Error | "timeout">()
  #everyFailure: Error | "timeout" | undefined
  #result: { readonly value: unknown } | undefined
  #nextFailure = 1

  setResult(step: string, value: unknown): void {
    if (this.#result) throw new Error(`the result of step "${step}" is mocked already`)
    this.#result = { value }
  }

  /** `times` undefined: every attempt fails. */
  fail(step: string, failure: Error | "timeout", times: number | undefined): void {
    if (this.#result) throw new Error(`the result of step "${step}" is mocked already; mock its errors and timeouts before`)
    if (times === undefined) this.#everyFailure = failure
    else for (let count = 0; count < times; count++) this.#failures.set(this.#nextFailure++, failure)
  }

  run = ({ attempt }: StepContext, { original, timeOut }: MockedStep): unknown => {
    const failure = this.#everyFailure ?? this.#failures.get(attempt)
    if (failure === "timeout") return timeOut()
    if (failure) throw failure
    return this.#result ? this.#result.value : original()
  }
}
