import type { AskRequest, ChildAsk, DoAsk } from "./ask.ts"
import { childId } from "../workflow/child-id.ts"
import { ChildResults } from "./child-results.ts"
import { encodeValue, Payload } from "../values/value-codec.ts"
import type { Child, ChildOptions, InstanceInfo } from "../workflow/context.ts"
import { PerdureError } from "../errors.ts"
import type { EntryOf } from "../journal/journal.ts"
import { checkId, type Limits } from "../workflow/input-limits.ts"
import { isStoreTrouble } from "../values/transient-error.ts"
import { handled } from "./promise-call.ts"
import type { AnyWorkflow } from "../workflow/workflow.ts"

/** A child as its parent wants it. */
export interface ChildStart {
  readonly step: string
  readonly child: ChildAsk
  readonly workflow: AnyWorkflow | string
  readonly input: Payload
  readonly options: ChildOptions<unknown>
}

/** What workflow code may do to a child; each is the function of a step. */
export interface ChildEffects {
  startChild(start: ChildStart): DoAsk["fn"]
  sendEvent(instance: string, type: string, payload: unknown): DoAsk["fn"]
  cancel(instance: string, reason: string | undefined): DoAsk["fn"]
}

/** The execution of the parent, as its children see it. */
export interface ChildHost {
  readonly instance: InstanceInfo
  /** Throws where the code may not wait. */
  guardWait(): void
}

/** Asks for a step of the engine's own making. */
export type AskFor = (name: string, make: (id: string) => AskRequest, duplicates?: "number") => Promise<unknown>

/** The children that workflow code starts, and what they came to. */
export class Children {
  readonly #source: ChildHost
  readonly #reach: ChildEffects
  readonly #limits: Limits
  readonly #results = new ChildResults()

  constructor(source: ChildHost, reach: ChildEffects, limits: Limits) {
    this.#source = source
    this.#reach = reach
    this.#limits = limits
  }

  /** The code waits for a child that is not over. */
  get isAwaited(): boolean {
    return this.#results.isAwaited
  }

  ended(entry: EntryOf<"child.ended">): void {
    this.#results.ended(entry)
  }

  /** Rejects the results that the code waits for. */
  rejectAwaited(error: unknown): void {
    this.#results.rejectAwaited(error)
  }

  start(askFor: AskFor, workflow: AnyWorkflow | string, options: ChildOptions<unknown>): Promise<Child> {
    return handled(this.#start(askFor, workflow, options))
  }

  run(askFor: AskFor, workflow: AnyWorkflow | string, options: ChildOptions<unknown>): Promise<unknown> {
    return handled(this.#start(askFor, workflow, options).then((child) => child.result()))
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
      return { kind: "do", id, fn: this.#reach.startChild({ step, child, workflow, input, options }), options: ownRetry, child, isOwn: true }
    })
    return this.#childOf(askFor, step, child.link.instance)
  }

  /** A child as workflow code sees it. What it does to the child is a step, named after the child. */
  #childOf(askFor: AskFor, step: string, id: string): Child {
    // The name is not the user's, so it is numbered where others may not be; of one that is too long the end says more.
    const reach = async (what: string, fn: () => DoAsk["fn"]) => {
      const own = fn()
      await askFor(
        `${id} ${what}`.slice(-this.#limits.stepNameLengthMax),
        (ask) => ({ kind: "do", id: ask, fn: own, options: ownRetry, isOwn: true }),
        "number",
      )
    }
    return {
      id,
      // An error of the call itself rejects, too.
      result: () => handled((async () => this.#result(step))()),
      sendEvent: (type: string, payload?: unknown) => handled(reach(type, () => this.#reach.sendEvent(id, type, payload))),
      cancel: (reason?: string) => handled(reach("cancel", () => this.#reach.cancel(id, reason))),
    }
  }

  #result(step: string): Promise<unknown> {
    this.#source.guardWait()
    return this.#results.of(step)
  }
}

/** What is wrong with the request itself stays wrong; a store that does not answer may answer later. */
const ownRetry = {
  retry: (error: unknown, attempt: number) => (PerdureError.is(error) && !isTransient(error) ? (false as const) : Math.min(100 * 2 ** attempt, 60_000)),
}

function isTransient(error: unknown): boolean {
  return isStoreTrouble(error) || PerdureError.is(error, "ENGINE_CLOSED")
}
