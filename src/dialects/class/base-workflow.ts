import type { Context } from "../../core/context.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Status } from "../../core/status.ts"
import type { StandardSchemaV1 } from "../../core/standard-schema.ts"
import { type AnyWorkflow, type EventMap, type Workflow, workflow } from "../../core/workflow.ts"
import type { Client, ControlResult, EventArguments, Handle, StartOptions, TerminateOptions } from "../../engine/client.ts"
import { type ClassOptions, defaultsOf, settingsOf } from "./class-options.ts"
import { ContextStep, type Step } from "./step.ts"

/**
 * A workflow as a class. `static type` is its name; `run` is its code, on an object of the class that is made anew whenever the code
 * begins or is replayed, so what it keeps in fields is as good as a local variable.
 */
export abstract class BaseWorkflow<Payload = void, Result = unknown, Events = EventMap> {
  /** Carries types only; never there at run time. */
  declare readonly types?: { readonly payload: Payload; readonly result: Result; readonly events: Events }
  #context: Context<Events, Payload> | undefined

  abstract run(step: Step<Events>, payload: Payload): Promise<Result>

  /** All that workflow code may ask for, beyond what `step` has: `now`, `random`, `log`, children, queries, updates. */
  protected get ctx(): Context<Events, Payload> {
    if (this.#context === undefined) throw new PerdureError("BAD_OPTION", "ctx is there once run is called; do not use it in the constructor")
    return this.#context
  }

  /** The native definition that the class stands for; the same one each time. */
  static definition<P, R, E, I = P>(this: WorkflowClass<P, R, E, I>): Workflow<I, R, E> {
    const known = definitions.get(this)
    if (known) return known as Workflow<I, R, E>
    if (typeof this.type !== "string") throw new PerdureError("BAD_OPTION", `class ${this.name} has no type; write static type = "…" as const`)
    const { timeout } = defaultsOf(this)
    const definition = workflow(this.type, settingsOf(this) as object, async (ctx: Context, payload: unknown) => {
      const object = new this()
      object.#context = ctx as Context<E, P>
      return object.run(new ContextStep(ctx as Context<E>, timeout), payload as P)
    })
    definitions.set(this, definition)
    return definition as Workflow<I, R, E>
  }

  /** Who is asked: a client. */
  static clientOf(target: object): Client {
    if (isClient(target)) return target
    throw new PerdureError("BAD_OPTION", "pass an engine or another client; in a Worker, take BaseWorkflow from perdure/cloudflare and pass env")
  }

  static create<P, R, E, I = P>(this: WorkflowClass<P, R, E, I>, target: object, ...options: CreateArguments<NoInfer<I>>): Promise<Handle<R, E>> {
    const [{ payload, ...rest } = {}] = options as [CreateOptions<unknown>?]
    const given = { ...rest, ...(payload === undefined ? undefined : { input: payload }) }
    return this.clientOf(target).start(this.definition() as AnyWorkflow, given) as Promise<Handle<R, E>>
  }

  static get<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Handle<R, E> {
    return this.clientOf(target).get(this.definition(), id)
  }

  static sendEvent<P, R, E, I, K extends keyof E & string>(
    this: WorkflowClass<P, R, E, I>,
    target: object,
    id: string,
    type: K,
    ...payload: EventArguments<NoInfer<E>[K]>
  ): Promise<void> {
    return this.get(target, id).sendEvent(type, ...payload)
  }

  static status<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Promise<Status> {
    return this.get(target, id).status()
  }

  static pause<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string, reason?: string): Promise<ControlResult> {
    return this.get(target, id).pause(reason)
  }

  static resume<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Promise<ControlResult> {
    return this.get(target, id).resume()
  }

  static terminate<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string, options?: string | TerminateOptions): Promise<ControlResult> {
    return this.get(target, id).terminate(options)
  }
}

/** A class that says what it is called, and whose events are those that its code waits for. `Input` is what `create` takes. */
export interface WorkflowClass<Payload, Result, Events, Input = Payload>
  extends Pick<typeof BaseWorkflow, "definition" | "clientOf" | "get">, ClassOptions<Payload, Input> {
  new (): BaseWorkflow<Payload, Result, Events>
  readonly name: string
  readonly type: string
  readonly events?: { readonly [K in keyof Events]: StandardSchemaV1<unknown, Events[K]> }
}

export interface CreateOptions<Payload> extends Omit<StartOptions<Payload>, "input" | "version"> {
  readonly payload?: Payload
}

/** The payload may be left out where the workflow takes none. */
export type CreateArguments<Payload> = undefined extends Payload
  ? [options?: CreateOptions<Payload>]
  : [Payload] extends [void]
    ? [options?: CreateOptions<Payload>]
    : [options: CreateOptions<Payload> & { readonly payload: Payload }]

const definitions = new WeakMap<object, AnyWorkflow>()

function isClient(target: object): target is Client {
  const { start, get } = target as Partial<Client>
  return typeof start === "function" && typeof get === "function"
}
