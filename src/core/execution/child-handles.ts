import type { AskRequest, ChildAsk, DoAsk } from "./ask.ts"
import { childId } from "../workflow/child-id.ts"
import { ChildResults } from "./child-results.ts"
import { encodeValue, Payload } from "../values/value-codec.ts"
import type { Child, ChildOptions, InstanceInfo } from "../workflow/context.ts"
import { PerdureError } from "../errors.ts"
import type { EntryOf } from "../journal/journal.ts"
import { checkId, type Limits } from "../workflow/input-limits.ts"
import { isStoreTrouble } from "../values/transient-error.ts"
import { markHandled } from "./promise-call.ts"
import type { AnyWorkflow } from "../workflow/workflow.ts"

/** The request of workflow code to start a child. */
export interface ChildStart {
  readonly step: string
  readonly child: ChildAsk
  readonly workflow: AnyWorkflow | string
  readonly input: Payload
  readonly options: ChildOptions<unknown>
}

/** The effects of workflow code on children. Each method returns the function of a step, which the engine runs. */
export interface ChildEffects {
  startChild(start: ChildStart): DoAsk["fn"]
  sendEvent(instance: string, type: string, payload: unknown): DoAsk["fn"]
  cancel(instance: string, reason: string | undefined): DoAsk["fn"]
}

/** What `Children` needs of the parent's execution. */
export interface ChildHost {
  readonly instance: InstanceInfo
  /** Throws if the code must not wait: in a handler that may only read, and after a cancel. */
  guardWait(): void
}

/** Asks for a step that the engine makes. */
export type AskFor = (name: string, make: (id: string) => AskRequest, duplicates?: "number") => Promise<unknown>

/** The child handles of workflow code: starts children, and gives their results. */
export class Children {
  readonly #source: ChildHost
  readonly #effects: ChildEffects
  readonly #limits: Limits
  readonly #results = new ChildResults()

  constructor(source: ChildHost, effects: ChildEffects, limits: Limits) {
    this.#source = source
    this.#effects = effects
    this.#limits = limits
  }

  /** Whether the code awaits the result of a child that has not ended. */
  get isAwaited(): boolean {
    return this.#results.isAwaited
  }

  ended(entry: EntryOf<"child.ended">): void {
    this.#results.ended(entry)
  }

  /** Rejects the results that the code awaits. */
  rejectAwaited(error: unknown): void {
    this.#results.rejectAwaited(error)
  }

  start(askFor: AskFor, workflow: AnyWorkflow | string, options: ChildOptions<unknown>): Promise<Child> {
    return markHandled(this.#start(askFor, workflow, options))
  }

  run(askFor: AskFor, workflow: AnyWorkflow | string, options: ChildOptions<unknown>): Promise<unknown> {
    return markHandled(this.#start(askFor, workflow, options).then((child) => child.result()))
  }

  async #start(askFor: AskFor, workflow: AnyWorkflow | string, options: ChildOptions<unknown>): Promise<Child> {
    const name = typeof workflow === "string" ? workflow : workflow.name
    const input = Payload.of(encodeValue(options.input, { what: `the input of child "${name}"`, bytesMax: this.#limits.payloadBytesMax }))
    const { onParentEnd = "cancel" } = options
    if (onParentEnd !== "cancel" && onParentEnd !== "terminate" && onParentEnd !== "abandon")
      throw new PerdureError("BAD_OPTION", `onParentEnd of child "${name}" is "${String(onParentEnd)}"; use "cancel", "terminate" or "abandon"`)
    if (options.id !== undefined) checkId(options.id, this.#limits.idLengthMax)
    const child: ChildAsk = { link: { instance: "", onParentEnd } }
    let step = ""
    await askFor(options.id ?? name, (id) => {
      step = id
      child.link = { instance: options.id ?? childId(this.#source.instance, id, this.#limits.idLengthMax), onParentEnd }
      return { kind: "do", id, fn: this.#effects.startChild({ step, child, workflow, input, options }), options: retryOfEngineSteps, child, isEngineStep: true }
    })
    return this.#childOf(askFor, step, child.link.instance)
  }

  /** The handle of a child. Each call that has an effect on the child is a step, named after the child. */
  #childOf(askFor: AskFor, step: string, id: string): Child {
    // The user did not choose the step's name, so it is numbered even with duplicateSteps "error". A name that is too long keeps its end.
    const runStep = async (what: string, fn: () => DoAsk["fn"]) => {
      const effect = fn()
      await askFor(
        `${id} ${what}`.slice(-this.#limits.stepNameLengthMax),
        (ask) => ({ kind: "do", id: ask, fn: effect, options: retryOfEngineSteps, isEngineStep: true }),
        "number",
      )
    }
    return {
      id,
      // The async function turns an error that is thrown at once into a rejection.
      result: () => markHandled((async () => this.#result(step))()),
      sendEvent: (type: string, payload?: unknown) => markHandled(runStep(type, () => this.#effects.sendEvent(id, type, payload))),
      cancel: (reason?: string) => markHandled(runStep("cancel", () => this.#effects.cancel(id, reason))),
    }
  }

  #result(step: string): Promise<unknown> {
    this.#source.guardWait()
    return this.#results.of(step)
  }
}

/** Retries failures of the store, which may answer later. An error in the request itself is final. */
const retryOfEngineSteps = {
  retry: (error: unknown, attempt: number) => (PerdureError.is(error) && !isTransient(error) ? (false as const) : Math.min(100 * 2 ** attempt, 60_000)),
}

function isTransient(error: unknown): boolean {
  return isStoreTrouble(error) || PerdureError.is(error, "ENGINE_CLOSED")
}
