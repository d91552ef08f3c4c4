import { isStream, storeStream } from "../../dialects/cloudflare-workflows/stream-output.ts"
import type { PassingTimers } from "../passing-timers.ts"
import type { InstanceChoice } from "../selected-instances.ts"
import type { BindingSession } from "./binding-session.ts"
import type { WorkflowInstanceModifier, WorkflowStepSelector } from "./introspection.ts"
import { StepScript } from "./step-script.ts"

/** The calls of `cloudflare:test` as mocks and timers of the test engine, for chosen instances. */
export class InstanceModifier implements WorkflowInstanceModifier {
  readonly #session: BindingSession
  readonly #instance: InstanceChoice
  readonly #scripts = new Map<string, StepScript>()
  readonly #changes: Disposable[] = []

  constructor(session: BindingSession, instance: InstanceChoice) {
    this.#session = session
    this.#instance = instance
  }

  disableSleeps = async (steps?: WorkflowStepSelector[]): Promise<void> => this.#pass("sleeps", steps)

  disableRetryDelays = async (steps?: WorkflowStepSelector[]): Promise<void> => this.#pass("retries", steps)

  mockStepResult = async (step: WorkflowStepSelector, stepResult: unknown): Promise<void> => {
    // The mock replaces what the dialect records, and a stream is recorded as its bytes.
    const value = isStream(stepResult) ? await storeStream(step.name, stepResult) : stepResult
    this.#scriptOf(step).setResult(step.name, value)
  }

  mockStepError = async (step: WorkflowStepSelector, error: Error, times?: number): Promise<void> => this.#scriptOf(step).fail(step.name, error, times)

  forceStepTimeout = async (step: WorkflowStepSelector, times?: number): Promise<void> => this.#scriptOf(step).fail(step.name, "timeout", times)

  mockEvent = async (event: { type: string; payload: unknown }): Promise<void> => {
    this.#changes.push(await this.#session.mockEvent({ ...event, instance: this.#instance }))
  }

  forceEventTimeout = async (step: WorkflowStepSelector): Promise<void> => this.#pass("timeouts", [step])

  /** Ends all changes. */
  undo(): void {
    for (const change of this.#changes.splice(0)) change[Symbol.dispose]()
    this.#scripts.clear()
  }

  #pass(what: PassingTimers, steps: readonly WorkflowStepSelector[] | undefined): void {
    const { engine, workflow } = this.#session
    const instance = this.#instance
    const choices = steps?.map(({ name, index = 1 }) => ({ step: name, nth: index, instance })) ?? [{ instance }]
    for (const choice of choices) this.#changes.push(engine.passAtOnce(workflow, what, choice))
  }

  #scriptOf({ name, index = 1 }: WorkflowStepSelector): StepScript {
    const key = `${index} ${name}`
    const known = this.#scripts.get(key)
    if (known) return known
    const { engine, workflow } = this.#session
    const script = new StepScript()
    this.#scripts.set(key, script)
    this.#changes.push(engine.mockStep(workflow, name, script.run, { nth: index, instance: this.#instance, optional: true }))
    return script
  }
}
