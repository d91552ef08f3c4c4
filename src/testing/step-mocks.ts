import type { StepContext } from "../core/workflow/context.ts"
import { PerdureError } from "../core/errors.ts"
import { isRollback } from "../core/workflow/step-id.ts"
import type { InterceptedStep } from "../engine/settings.ts"
import { AskOrder } from "./ask-order.ts"
import { type InstanceChoice, isChosen } from "./selected-instances.ts"
import { nearestName } from "../core/arguments/nearest-name.ts"

/** The replacement of a step's function: an error is thrown, a function is called, and any other value is the result. */
export type Mock = Error | ((context: StepContext, step: MockedStep) => unknown) | string | number | boolean | bigint | object | null | undefined

/** The step that a function replaces. */
export interface MockedStep {
  /** Calls the step's own function, or an older replacement of it. */
  readonly original: () => unknown
  /** Lets the attempt fail as if its timeout were over. */
  readonly timeOut: () => never
}

/** Options of `mockStep`. */
export interface MockOptions {
  /** The number of attempts that are replaced; later attempts call the step's own function. Default: all attempts. */
  readonly times?: number
  /** The workflow need not reach the step. Without this option, `close()` throws if no instance asked for the step. */
  readonly optional?: boolean
  /** Only the n-th step of that name in an instance, from 1 on. Default: each of them. */
  readonly nth?: number
  /** The id of the instance, or a function that chooses instances by their ids. Default: all instances of the workflow. */
  readonly instance?: InstanceChoice
}

/** Replacements of steps, by workflow and by the step's name or id. The newest replacement wins. */
export class StepMocks {
  readonly #mocks: StepMock[] = []
  readonly #order = new AskOrder()
  /** Names and ids of the steps that ran, by workflow. */
  readonly #asked = new Map<string, Set<string>>()

  add(workflow: string, step: string, mock: Mock, { times = Infinity, ...options }: MockOptions): Disposable {
    const added: StepMock = { workflow, step, mock, left: times, ...options }
    this.#mocks.unshift(added)
    return {
      [Symbol.dispose]: () => {
        if (this.#mocks.includes(added)) this.#mocks.splice(this.#mocks.indexOf(added), 1)
      },
    }
  }

  intercept(step: InterceptedStep, next: () => unknown): unknown {
    this.#note(step)
    const place = this.#order.placeOf(isRollback(step.id) ? "rollback" : "do", step.instance, step.name, step.id)
    return this.#call(
      step,
      this.#mocks.filter((mock) => isMeant(mock, step, place)),
      next,
    )
  }

  /** Calls the first of the replacements that is left, and the step's own function after the last one. */
  #call(step: InterceptedStep, meant: readonly StepMock[], next: () => unknown): unknown {
    const at = meant.findIndex(({ left }) => left > 0)
    const found = meant[at]
    if (found === undefined) return next()
    found.left--
    const { mock } = found
    if (mock instanceof Error) throw mock
    if (typeof mock !== "function") return mock
    const mocked: MockedStep = {
      original: () => this.#call(step, meant.slice(at + 1), next),
      timeOut: () => {
        throw timeoutOf(step)
      },
    }
    return (mock as (context: StepContext, step: MockedStep) => unknown)(step.context, mocked)
  }

  /** Throws if instances of a workflow ran and none asked for a replaced step: most likely the name of the step is wrong. */
  requireKnown(): void {
    for (const { workflow, step, optional } of this.#mocks.splice(0)) {
      const asked = this.#asked.get(workflow)
      if (optional === true || asked === undefined || asked.has(step)) continue
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

interface StepMock extends Omit<MockOptions, "times"> {
  readonly workflow: string
  readonly step: string
  readonly mock: Mock
  left: number
}

/** A rollback has the name of its step, so a replacement applies to a rollback only by id. */
function isMeant({ workflow, step: name, nth, instance }: StepMock, step: InterceptedStep, place: number): boolean {
  if (workflow !== step.workflow || !isChosen(instance, step.instance)) return false
  if (nth !== undefined && nth !== place) return false
  return name === step.id || (name === step.name && !isRollback(step.id))
}

function timeoutOf({ id, timeoutMs }: InterceptedStep): PerdureError {
  const details = { step: id, ...(timeoutMs === undefined ? undefined : { timeoutMs }) }
  return new PerdureError("STEP_TIMEOUT", `step "${id}" took longer than its timeout`, { details })
}
