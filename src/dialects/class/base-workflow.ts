import type { Context } from "../../core/workflow/context.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Status } from "../../core/journal/status.ts"
import type { StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"
import { type AnyWorkflow, type EventMap, type Workflow, workflow } from "../../core/workflow/workflow.ts"
import type { Client, ControlResult, EventArguments, Handle, StartOptions, TerminateOptions } from "../../client-api/client-api.ts"
import { type ClassOptions, defaultsOf, settingsOf } from "./class-options.ts"
import { ContextStep, type Step } from "./step.ts"

/**
 * A workflow as a class. `static type` is its name; `run` is its code, on an object of the class that is made anew whenever the code
 * begins or is replayed, so what it keeps in fields is as good as a local variable.
 *
 * @example
 * class Greeting extends BaseWorkflow<{ name: string }, string> {
 *   static readonly type = "greeting" as const
 *
 *   async run(step: Step, { name }: { name: string }): Promise<string> {
 *     await step.sleep("pause", "5s")
 *     return step.do("greet", () => `Hello, ${name}!`)
 *   }
 * }
 *
 * const engine = await Perdure.open({ workflows: [Greeting] })
 * const handle = await Greeting.create(engine, { payload: { name: "Ada" } })
 */
export abstract class BaseWorkflow<Payload = void, Result = unknown, Events = EventMap> {
  /** Carries types only; never there at run time. */
  declare readonly types?: { readonly payload: Payload; readonly result: Result; readonly events: Events }
  #context: Context<Events, Payload> | undefined

  /** The code of the workflow. It may depend on nothing but its payload and what `step` and `this.ctx` give: it runs again whenever the instance is replayed. */
  abstract run(step: Step<Events>, payload: Payload): Promise<Result>

  /** All that workflow code may ask for, beyond what `step` has: `now`, `random`, `log`, children, queries, updates. */
  protected get ctx(): Context<Events, Payload> {
    if (this.#context === undefined) throw new PerdureError("BAD_OPTION", "ctx exists only while run is executed; do not use it in the constructor")
    return this.#context
  }

  /** The native definition that the class stands for; the same one each time. Throws `BAD_OPTION` if the class has no `static type`, or a wrong option. */
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

  /** The client that the helpers of the class ask. Throws `BAD_OPTION` for what is none. */
  static clientOf(target: object): Client {
    if (isClient(target)) return target
    throw new PerdureError("BAD_OPTION", "pass an engine or another client; in a Worker, take BaseWorkflow from perdure/cloudflare and pass env")
  }

  /** Starts an instance of the class. `target` is a client; options are those of `start`, with `payload` in place of `input`. Throws what `start` throws. */
  static create<P, R, E, I = P>(this: WorkflowClass<P, R, E, I>, target: object, ...options: CreateArguments<NoInfer<I>>): Promise<Handle<R, E>> {
    const [{ payload, ...rest } = {}] = options as [CreateOptions<unknown>?]
    const given = { ...rest, ...(payload === undefined ? undefined : { input: payload }) }
    return this.clientOf(target).start(this.definition() as AnyWorkflow, given) as Promise<Handle<R, E>>
  }

  /** A handle of the instance with this id, with the types of the class. It makes no request. */
  static get<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Handle<R, E> {
    return this.clientOf(target).get(this.definition(), id)
  }

  /** Sends an event to the instance with this id. Throws what `sendEvent` of a handle throws. */
  static sendEvent<P, R, E, I, K extends keyof E & string>(
    this: WorkflowClass<P, R, E, I>,
    target: object,
    id: string,
    type: K,
    ...payload: EventArguments<NoInfer<E>[K]>
  ): Promise<void> {
    return this.get(target, id).sendEvent(type, ...payload)
  }

  /** The status of the instance with this id. Throws `NOT_FOUND` where there is none. */
  static status<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Promise<Status> {
    return this.get(target, id).status()
  }

  /** Lets running attempts finish, and starts nothing more of the instance until `resume`. */
  static pause<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string, reason?: string): Promise<ControlResult> {
    return this.get(target, id).pause(reason)
  }

  /** Lets the instance go on if it is paused, or if it is stalled and its code was mended. */
  static resume<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Promise<ControlResult> {
    return this.get(target, id).resume()
  }

  /** Ends the instance at once, without asking its code. With `rollback: true` its completed steps are undone first. */
  static terminate<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string, options?: string | TerminateOptions): Promise<ControlResult> {
    return this.get(target, id).terminate(options)
  }
}

/** A class that says what it is called, and whose events are those that its code waits for. `Input` is what `create` takes. */
export interface WorkflowClass<Payload, Result, Events, Input = Payload>
  extends Pick<typeof BaseWorkflow, "definition" | "clientOf" | "get">, ClassOptions<Payload, Input> {
  new (): BaseWorkflow<Payload, Result, Events>
  /** The name of the class in the source, for messages. */
  readonly name: string
  /** The name of the workflow: what instances are started and found by. Write it as `static readonly type = "order" as const`. */
  readonly type: string
  /** The events that the workflow takes, each with the schema of its payload. Others are refused: `UNKNOWN_EVENT`. Default: any event is taken. */
  readonly events?: { readonly [K in keyof Events]: StandardSchemaV1<unknown, Events[K]> }
}

/** Options of `create`: those of `start`, with `payload` in place of `input`. The version is that of the class. */
export interface CreateOptions<Payload> extends Omit<StartOptions<Payload>, "input" | "version"> {
  /** What `run` is given. It is checked by `static input`, if the class has that. */
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
