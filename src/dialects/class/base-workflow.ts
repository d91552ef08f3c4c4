import type { Context } from "../../core/workflow/context.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Status } from "../../core/journal/status.ts"
import type { StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"
import { type AnyWorkflow, type EventMap, type Workflow, workflow } from "../../core/workflow/workflow.ts"
import type { Client, ControlResult, EventArguments, Handle, StartOptions, TerminateOptions } from "../../client-api/client-api.ts"
import { type ClassOptions, defaultsOf, settingsOf } from "./class-options.ts"
import { ContextStep, type Step } from "./step.ts"

/**
 * A workflow as a class. `static type` is its name, and `run` is its code. Each start and each replay of the code has a new object of the class, so
 * fields behave like local variables.
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
  /** Carries types only; the property does not exist at run time. */
  declare readonly types?: { readonly payload: Payload; readonly result: Result; readonly events: Events }
  #context: Context<Events, Payload> | undefined

  /** The code of the workflow. It must depend only on its payload, `step` and `this.ctx`, because it runs again each time the instance is replayed. */
  abstract run(step: Step<Events>, payload: Payload): Promise<Result>

  /** The whole context of workflow code. Beyond `step` it has `now`, `random`, `log`, children, queries and updates. */
  protected get ctx(): Context<Events, Payload> {
    if (this.#context === undefined) throw new PerdureError("BAD_OPTION", "ctx exists only while run is executed; do not use it in the constructor")
    return this.#context
  }

  /** The definition of the class's workflow; every call returns the same one. Throws `BAD_OPTION` if the class has no `static type`, or a wrong option. */
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

  /** The client that the static helpers of the class use. Throws `BAD_OPTION` if `target` is not a client. */
  static clientOf(target: object): Client {
    if (isClient(target)) return target
    throw new PerdureError("BAD_OPTION", "pass an engine or another client; in a Worker, take BaseWorkflow from perdure/cloudflare and pass env")
  }

  /** Starts an instance of the class. `target` is a client. The options are those of `start`, with `payload` instead of `input`. Throws the errors of `start`. */
  static create<P, R, E, I = P>(this: WorkflowClass<P, R, E, I>, target: object, ...options: CreateArguments<NoInfer<I>>): Promise<Handle<R, E>> {
    const [{ payload, ...rest } = {}] = options as [CreateOptions<unknown>?]
    const given = { ...rest, ...(payload === undefined ? undefined : { input: payload }) }
    return this.clientOf(target).start(this.definition() as AnyWorkflow, given) as Promise<Handle<R, E>>
  }

  /** A handle of the instance with this id, with the types of the class. It makes no request. */
  static get<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Handle<R, E> {
    return this.clientOf(target).get(this.definition(), id)
  }

  /** Sends an event to the instance with this id. Throws the errors of a handle's `sendEvent`. */
  static sendEvent<P, R, E, I, K extends keyof E & string>(
    this: WorkflowClass<P, R, E, I>,
    target: object,
    id: string,
    type: K,
    ...payload: EventArguments<NoInfer<E>[K]>
  ): Promise<void> {
    return this.get(target, id).sendEvent(type, ...payload)
  }

  /** The status of the instance with this id. Throws `NOT_FOUND` if it does not exist. */
  static status<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Promise<Status> {
    return this.get(target, id).status()
  }

  /** Pauses the instance: running attempts finish, and nothing new starts until `resume`. */
  static pause<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string, reason?: string): Promise<ControlResult> {
    return this.get(target, id).pause(reason)
  }

  /** Resumes an instance that is paused, or that is stalled and whose code was repaired. */
  static resume<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string): Promise<ControlResult> {
    return this.get(target, id).resume()
  }

  /** Ends the instance at once. None of its code runs any more, but with `rollback: true` its rollbacks run first. */
  static terminate<P, R, E, I>(this: WorkflowClass<P, R, E, I>, target: object, id: string, options?: string | TerminateOptions): Promise<ControlResult> {
    return this.get(target, id).terminate(options)
  }
}

/** The constructor of a workflow class: it has a `type`, and may have options as static fields. `Input` is the payload that `create` takes. */
export interface WorkflowClass<Payload, Result, Events, Input = Payload>
  extends Pick<typeof BaseWorkflow, "definition" | "clientOf" | "get">, ClassOptions<Payload, Input> {
  new (): BaseWorkflow<Payload, Result, Events>
  /** The name of the class in the source, for messages. */
  readonly name: string
  /** The name of the workflow. Write it as `static readonly type = "order" as const`. */
  readonly type: string
  /** The events of the workflow, each with the schema of its payload. Other events are refused with `UNKNOWN_EVENT`. Default: any event is accepted. */
  readonly events?: { readonly [K in keyof Events]: StandardSchemaV1<unknown, Events[K]> }
}

/** Options of `create`: those of `start`, with `payload` instead of `input`. The version is that of the class. */
export interface CreateOptions<Payload> extends Omit<StartOptions<Payload>, "input" | "version"> {
  /** The payload that `run` gets. If the class has `static input`, this schema checks and converts it. */
  readonly payload?: Payload
}

/** The arguments of `create`: the payload may be left out if the workflow takes none. */
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
