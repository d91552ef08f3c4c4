import type { Context } from "./context.ts"
import { PerdureError } from "../errors.ts"
import { durationMs, type Duration } from "../time/duration.ts"
import { checkFlowOptions, type FlowOptions } from "./flow-options.ts"
import { checkEventType, checkQueue, checkWorkflowName } from "./input-limits.ts"
import { checkRetry, type RetryOptions } from "./retry-policy.ts"
import type { InferInput, InferOutput, StandardSchemaV1 } from "./standard-schema.ts"

/** Event types and the payload that each carries. */
export type EventMap = Record<string, unknown>

/**
 * A definition: a name, a version, the code. `In` is what `start` takes, `Events` what the code sees, `Sent` what senders give, `Handlers` the
 * queries and updates that the code answers.
 */
export interface Workflow<in out In = unknown, out Out = unknown, Events = EventMap, Sent = Events, out Handlers = unknown> {
  /** What it is started and found by. */
  readonly name: string
  /** An instance keeps the version that it was started with. */
  readonly version: string
  /** What was given to `workflow` beside the code. */
  readonly options: WorkflowSettings
  /** The code, without its types. */
  readonly run: WorkflowCode
  /** Carries types only; never there at run time. */
  readonly types?: { readonly input: In; readonly result: Out; readonly events: Events; readonly sent: Sent; readonly handlers: Handlers }
}

/** Any workflow, where its types do not matter. `any`, as a definition is invariant in what it takes. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyWorkflow = Workflow<any, any, any, any, any>

type TypesOf<W extends AnyWorkflow> = NonNullable<W["types"]>
/** What a start of the workflow takes. */
export type InputOf<W extends AnyWorkflow> = TypesOf<W>["input"]
/** What its instances give; of one that is only named, nobody knows. */
export type ResultOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? TypesOf<W>["result"] : unknown
/** The events that its instances take, as senders give them. */
export type SentOf<W extends AnyWorkflow> = TypesOf<W>["sent"]
/** The queries and updates that its instances answer. */
export type HandlersOf<W extends AnyWorkflow> = TypesOf<W>["handlers"]

export type WorkflowCode = (ctx: Context, input: unknown) => unknown

/** Options of a workflow. */
export interface WorkflowSettings<In = unknown> extends Hooks, FlowOptions<In> {
  /** Default `"1"`. An instance keeps the version that it was started with. */
  readonly version?: string
  /** Checks and converts the input of each start; what it refuses is `INVALID_INPUT`. Default: any input is taken. */
  readonly input?: StandardSchemaV1
  /** The events that the workflow takes, each with the schema of its payload. Others are refused: `UNKNOWN_EVENT`. Default: any event is taken. */
  readonly events?: Readonly<Record<string, StandardSchemaV1>>
  /** Default for the steps of this workflow. */
  readonly retry?: RetryOptions
  /** For each instance: cancels it and ends it as failed. */
  readonly timeout?: Duration
  /** Only workers that serve this queue execute it; default: that of the instance that starts it as a child, else `"default"`. */
  readonly taskQueue?: string
  /** What is for the code alone, and for whoever waits for the result: redacted wherever else it would be shown. */
  readonly sensitive?: SensitiveData
  /** `"error"` forbids the same step name twice; default: the second is `name#2`. */
  readonly duplicateSteps?: "number" | "error"
  /** Which steps are undone when a run fails or is cancelled, and what a failed rollback means. Keep it for as long as instances of this version run. */
  readonly rollbackPolicy?: RollbackPolicy
}

/** How steps with a `rollback` are undone. */
export interface RollbackPolicy {
  /**
   * `"completed"`, the default: steps that have completed, newest completion first. `"started"`: every step that was started, newest start first; the
   * rollback of a step that did not complete gets `undefined` in place of a result.
   */
  readonly of?: "completed" | "started"
  /** `"continue"`, the default: a rollback that fails does not keep the others from running. `"stop"`: no further rollback runs. */
  readonly onFailure?: "continue" | "stop"
}

/** What of a workflow is redacted wherever it would be shown. Default: nothing. */
export interface SensitiveData {
  /** The input of an instance. */
  readonly input?: boolean
  /** The result, and what the workflow fails with. */
  readonly result?: boolean
  /** Types of events whose payloads are. */
  readonly events?: readonly string[]
  /** Names of updates whose arguments and answers are. */
  readonly updates?: readonly string[]
}

/** Called at least once after the instance got that status, again after a crash or an error. */
export interface Hooks {
  /** The code returned. */
  readonly onCompleted?: Hook
  /** The code threw, or its time was over. */
  readonly onFailed?: Hook
  /** It was cancelled. */
  readonly onCancelled?: Hook
  /** Its code and its journal disagree, or it kills its worker again and again. */
  readonly onStalled?: Hook
}

export const hookNames = ["onCompleted", "onFailed", "onCancelled", "onStalled"] as const satisfies readonly (keyof Hooks)[]

/** A function that is called when an instance has ended or stalled. What it throws is logged, and it is called again later. */
export type Hook = (ended: HookEvent) => unknown

/** What a hook is told. */
export interface HookEvent {
  /** Of the instance. */
  readonly id: string
  /** The name of its workflow. */
  readonly workflow: string
  /** The version that it was started with. */
  readonly version: string
  /** Which run of the instance it was, from 1 on. */
  readonly run: number
  /** What it has come to. */
  readonly status: "completed" | "failed" | "cancelled" | "stalled"
  /** What the code returned, if it completed. */
  readonly result?: unknown
  /** What the code threw, or why it stalled. */
  readonly error?: unknown
}

type SchemaOutputs<S> = { [K in keyof S]: S[K] extends StandardSchemaV1 ? InferOutput<S[K]> : never }
type SchemaInputs<S> = { [K in keyof S]: S[K] extends StandardSchemaV1 ? InferInput<S[K]> : never }
type NoSchemas = { readonly input?: never; readonly events?: never }

type Options<In> = Omit<WorkflowSettings<In>, "input" | "events">
/** `Again`: what `continueAsNew` takes, which is what a start takes. */
type Code<Events, Input, Out, Handlers, Again = Input> = (ctx: Context<Events, NoInfer<Again>, Handlers>, input: Input) => Promise<Out>

/**
 * Defines a workflow: a name, and the function that is its code. Input, events and result are typed by the function; with schemas in the options, by these.
 * The function may depend on nothing but its input and what `ctx` gives: it runs again whenever an instance is replayed. Throws `BAD_NAME` for the
 * name, and `BAD_OPTION` or `BAD_DURATION` for an option that is wrong.
 *
 * @example
 * const order = workflow("order", { timeout: "7d" }, async (ctx: Context<{ approval: { by: string } }>, input: { item: string }) => {
 *   await ctx.do("reserve", () => reserve(input.item))
 *   const { by } = await ctx.waitForEvent("approval")
 *   return `${input.item}, approved by ${by}`
 * })
 */
export function workflow<Input = void, Out = unknown, Events = EventMap, Handlers = unknown>(
  name: string,
  run: Code<Events, Input, Out, Handlers>,
): Workflow<Input, Out, Events, Events, Handlers>
/** Input and events typed by their schemas. */
export function workflow<I extends StandardSchemaV1, E extends Record<string, StandardSchemaV1>, Out, Handlers = unknown>(
  name: string,
  options: Options<InferOutput<I>> & { readonly input: I; readonly events: E },
  run: Code<SchemaOutputs<E>, InferOutput<I>, Out, Handlers, InferInput<I>>,
): Workflow<InferInput<I>, Out, SchemaOutputs<E>, SchemaInputs<E>, Handlers>
export function workflow<I extends StandardSchemaV1, Out, Events = EventMap, Handlers = unknown>(
  name: string,
  options: Options<InferOutput<I>> & { readonly input: I; readonly events?: never },
  run: Code<Events, InferOutput<I>, Out, Handlers, InferInput<I>>,
): Workflow<InferInput<I>, Out, Events, Events, Handlers>
export function workflow<E extends Record<string, StandardSchemaV1>, Out, Input = void, Handlers = unknown>(
  name: string,
  options: Options<Input> & { readonly input?: never; readonly events: E },
  run: Code<SchemaOutputs<E>, Input, Out, Handlers>,
): Workflow<Input, Out, SchemaOutputs<E>, SchemaInputs<E>, Handlers>
export function workflow<Input = void, Out = unknown, Events = EventMap, Handlers = unknown>(
  name: string,
  options: Options<Input> & NoSchemas,
  run: Code<Events, Input, Out, Handlers>,
): Workflow<Input, Out, Events, Events, Handlers>
export function workflow(name: string, first: WorkflowSettings | WorkflowCode, second?: WorkflowCode): AnyWorkflow {
  const definition = defineWorkflow(name, first, second)
  checkFlowOptions(name, definition.options)
  return definition
}

/** Of a workflow that names none. */
export const defaultVersion = "1"

/** The same, but for what it says about flow control: in a Worker that is looked at by the part that knows of it. */
export function defineWorkflow(name: string, first: WorkflowSettings | WorkflowCode, second?: WorkflowCode): AnyWorkflow {
  const options = typeof first === "function" ? {} : first
  const run = typeof first === "function" ? first : second
  // How long names may be is for the engine to say.
  checkWorkflowName(name, Infinity)
  if (typeof run !== "function")
    throw new PerdureError("BAD_OPTION", `workflow "${name}" has no function to run; write workflow("${name}", async (ctx, input) => …)`)
  const version = options.version ?? defaultVersion
  if (typeof version !== "string" || version.length === 0 || version.length > 64) {
    throw new PerdureError("BAD_OPTION", `the version of workflow "${name}" must be a string of 1 to 64 characters`, { details: { version } })
  }
  for (const type of Object.keys(options.events ?? {})) checkEventType(type, Infinity)
  if (options.retry !== undefined) checkRetry(options.retry)
  if (options.timeout !== undefined) durationMs(options.timeout, `the timeout of workflow "${name}"`)
  if (options.duplicateSteps !== undefined && options.duplicateSteps !== "number" && options.duplicateSteps !== "error")
    throw new PerdureError("BAD_OPTION", `duplicateSteps of workflow "${name}" must be "number" or "error"`)
  if (options.taskQueue !== undefined) checkQueue(options.taskQueue)
  if (options.sensitive !== undefined) checkSensitive(name, options.sensitive)
  if (options.rollbackPolicy !== undefined) checkRollbackPolicy(name, options.rollbackPolicy)
  return { name, version, options, run }
}

/** A misspelt name would show what is to be hidden. */
function checkSensitive(name: string, sensitive: SensitiveData): void {
  const isList = (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === "string")
  const checks: Record<string, (value: unknown) => boolean> = { input: isBoolean, result: isBoolean, events: isList, updates: isList }
  for (const [key, value] of Object.entries(sensitive) as [string, unknown][])
    if (value !== undefined && checks[key]?.(value) !== true)
      throw new PerdureError(
        "BAD_OPTION",
        `sensitive.${key} of workflow "${name}" is wrong; use input: true, result: true, events: [types] or updates: [names]`,
      )
}

function checkRollbackPolicy(name: string, { of = "completed", onFailure = "continue" }: RollbackPolicy): void {
  if ((of === "completed" || of === "started") && (onFailure === "continue" || onFailure === "stop")) return
  throw new PerdureError("BAD_OPTION", `rollbackPolicy of workflow "${name}" must be { of: "completed" or "started", onFailure: "continue" or "stop" }`)
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean"
}
