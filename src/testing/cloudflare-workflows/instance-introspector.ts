import type { Handle, InstanceDescription } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import { isHidden } from "../../core/values/redaction.ts"
import { deleteInstance } from "../../dialects/cloudflare-workflows/instance-calls.ts"
import { attemptError } from "../../dialects/cloudflare-workflows/instance-event.ts"
import { nativeId } from "../../dialects/cloudflare-workflows/instance-id.ts"
import { instanceStatus, type InstanceStatus } from "../../dialects/cloudflare-workflows/instance-status.ts"
import { revivedStream } from "../../dialects/cloudflare-workflows/stream-output.ts"
import type { BindingSession } from "./binding-session.ts"
import { InstanceModifier } from "./instance-modifier.ts"
import type { WorkflowInstanceIntrospector, WorkflowInstanceModifier, WorkflowStepSelector } from "./introspection.ts"

const finalStatuses: ReadonlySet<InstanceStatus["status"]> = new Set(["complete", "errored", "terminated"])
/** The local engine of Cloudflare, for which tests are written, calls these `running`. */
const shownAsRunning: ReadonlySet<InstanceStatus["status"]> = new Set(["waiting", "rollingBack"])
/** How long, in real time, a wait allows the test to create the instance. */
const creationMsMax = 1_000
const lookMs = 5

export class InstanceIntrospector implements WorkflowInstanceIntrospector {
  readonly #session: BindingSession
  readonly #id: string
  readonly #modifier: InstanceModifier

  constructor(session: BindingSession, id: string) {
    this.#session = session
    this.#id = id
    this.#modifier = new InstanceModifier(session, nativeId(session.workflow, id))
  }

  async modify(fn: (modifier: WorkflowInstanceModifier) => Promise<void>): Promise<WorkflowInstanceIntrospector> {
    await fn(this.#modifier)
    return this
  }

  async waitForStepResult({ name, index = 1 }: WorkflowStepSelector): Promise<unknown> {
    return this.#until((instance) => {
      const step = instance.steps.filter(({ type, name: own, parentId }) => type === "do" && own === name && parentId === undefined)[index - 1]
      if (step?.status === "completed") return { value: isHidden(step.result) ? "[REDACTED]" : revivedStream(step.result) }
      if (step?.status === "failed") throw errorOf(attemptError(step.error))
      const shown = instanceStatus(instance)
      if (finalStatuses.has(shown.status)) throw this.#unreachable(shown, `step "${name}" (${index}) has no result`)
      return undefined
    })
  }

  async waitForStatus(status: InstanceStatus["status"]): Promise<void> {
    if (status === "queued") return
    await this.#until((instance) => {
      const shown = instanceStatus(instance)
      if (shown.status === status || (status === "running" && shownAsRunning.has(shown.status))) return { value: undefined }
      if (finalStatuses.has(shown.status)) throw this.#unreachable(shown, `it can never be "${status}"`)
      return undefined
    })
  }

  async getOutput(): Promise<unknown> {
    const instance = await this.#handle.describe()
    this.#require("complete", instance, "output")
    return instance.result
  }

  async getError(): Promise<{ name: string; message: string }> {
    const instance = await this.#handle.describe()
    this.#require("errored", instance, "error")
    return instanceStatus(instance).error ?? { name: "Error", message: "" }
  }

  dispose = async (): Promise<void> => {
    this.#modifier.undo()
    try {
      await deleteInstance(this.#handle)
    } catch (error) {
      if (!PerdureError.is(error, "NOT_FOUND") && !PerdureError.is(error, "ENGINE_CLOSED")) throw error
    }
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  get #handle(): Handle {
    return this.#session.engine.get(nativeId(this.#session.workflow, this.#id))
  }

  /** Moves time until the function answers. */
  async #until<T>(answerOf: (instance: InstanceDescription) => { readonly value: T } | undefined): Promise<T> {
    await this.#created()
    let answer: { readonly value: T } | undefined
    const condition = async () => {
      answer = answerOf(await this.#handle.describe())
      return answer !== undefined
    }
    try {
      await this.#session.engine.skipUntil(condition)
    } catch (error) {
      throw PerdureError.is(error, "NOTHING_MOVES") ? await this.#stuck(error) : error
    }
    return answer!.value
  }

  async #stuck(error: PerdureError): Promise<PerdureError> {
    const { because } = await this.#handle.why()
    const message = `Workflow instance "${this.#id}" does not come to what the test waits for when only time passes: ${because.join("; ")}`
    return new PerdureError("NOTHING_MOVES", message, { cause: error })
  }

  /** The test may create the instance after it began to wait for it. Time does not move meanwhile. */
  async #created(): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += lookMs) {
      try {
        return void (await this.#handle.status())
      } catch (error) {
        if (!PerdureError.is(error, "NOT_FOUND") || waitedMs >= creationMsMax) throw error
      }
      await new Promise<void>((resolve) => setTimeout(resolve, lookMs))
    }
  }

  #require(wanted: InstanceStatus["status"], instance: InstanceDescription, what: string): void {
    const { status } = instanceStatus(instance)
    if (status !== wanted) throw new Error(`Workflow instance "${this.#id}" is "${status}"; only an instance that is "${wanted}" has an ${what}`)
  }

  #unreachable({ status, error }: InstanceStatus, consequence: string): Error {
    const why = error ? ` (${error.name}: ${error.message})` : ""
    return new Error(`Workflow instance "${this.#id}" is "${status}"${why}, so ${consequence}`)
  }
}

function errorOf({ name, message }: { readonly name: string; readonly message: string }): Error {
  return Object.assign(new Error(message), { name })
}
