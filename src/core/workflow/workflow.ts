import type { Context } from "./context.ts"
import { PerdureError } from "../errors.ts"
import { durationMs, type Duration } from "../time/duration.ts"
import { checkFlowOptions, type FlowOptions } from "./flow-options.ts"
import { checkEventType, checkQueue, checkWorkflowName } from "./input-limits.ts"
import { retentionMs, type Retention } from "./retention.ts"
import { checkRetry, type RetryOptions } from "./retry-policy.ts"
import type { InferInput, InferOutput, StandardSchemaV1 } from "./standard-schema.ts"

/** Event types and the payload that each carries. */
export type EventMap = Record<string, unknown>

/**
 * A workflow definition: a name, a version, the code. `In` is the input of a start, `Events` are the payloads as the code sees them, `Sent` the payloads
 * as senders give them, `Handlers` the queries and updates that the code answers.
 */
export interface Workflow<in out In = unknown, out Out = unknown, Events = EventMap, Sent = Events, out Handlers = unknown> {
  /** The name by which the workflow is started. */
  readonly name: string
  /** An instance keeps the version that it was started with. */
  readonly version: string
  /** The options that were given to `workflow`. */
  readonly options: WorkflowSettings
  /** The code, without its types. */
  readonly run: WorkflowCode
  /** Carries types only; the property does not exist at run time. */
  readonly types?: { readonly input: In; readonly result: Out; readonly events: Events; readonly sent: Sent; readonly handlers: Handlers }
}

/** Any workflow, if its types do not matter. It is made of `any`, because a definition is invariant in its type parameters. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyWorkflow = Workflow<any, any, any, any, any>

type TypesOf<W extends AnyWorkflow> = NonNullable<W["types"]>
/** The input of a start. */
export type InputOf<W extends AnyWorkflow> = TypesOf<W>["input"]
/** The result of an instance; unknown if the workflow is given by name. */
export type ResultOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? TypesOf<W>["result"] : unknown
/** The events of the workflow, with payloads as senders give them. */
export type SentOf<W extends AnyWorkflow> = TypesOf<W>["sent"]
/** The queries and updates that the workflow answers. */
export type HandlersOf<W extends AnyWorkflow> = TypesOf<W>["handlers"]

export type WorkflowCode = (ctx: Context, input: unknown) => unknown

/** Options of a workflow. */
export interface WorkflowSettings<In = unknown> extends Hooks, FlowOptions<In> {
  /** The version. Default `"1"`. An instance keeps the version that it was started with. */
  readonly version?: string
  /** Checks and converts the input of each start, which throws `INVALID_INPUT` if the schema refuses it. Default: any input is accepted. */
  readonly input?: StandardSchemaV1
  /** The events of the workflow, each with the schema of its payload. Other events are refused with `UNKNOWN_EVENT`. Default: any event is accepted. */
  readonly events?: Readonly<Record<string, StandardSchemaV1>>
  /** The default retry options of this workflow's steps. */
  readonly retry?: RetryOptions
  /** The time for one run. Then the instance is cancelled and ends as failed. */
  readonly timeout?: Duration
  /** Only workers that serve this task queue execute the workflow. Default: the queue of the parent for a child, else `"default"`. */
  readonly taskQueue?: string
  /** The data that only the code and callers of `result()` get. It is redacted wherever else it would be shown. */
  readonly sensitive?: SensitiveData
  /** `"error"` forbids a second step with the same name. Default: the second step gets the id `name#2`. */
  readonly duplicateSteps?: "number" | "error"
  /** Which steps are undone when a run fails or is cancelled, and what a failed rollback means. Keep it for as long as instances of this version run. */
  readonly rollbackPolicy?: RollbackPolicy
  /** How long an ended instance is kept, if its start does not say. It is recorded with the instance. Default: for ever. */
  readonly retention?: Retention
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

/** The data of a workflow that is redacted. Default: none. */
export interface SensitiveData {
  /** The input of an instance. */
  readonly input?: boolean
  /** The result of an instance, and the error of a failed one. */
  readonly result?: boolean
  /** Types of events whose payloads are redacted. */
  readonly events?: readonly string[]
  /** Names of updates whose arguments and answers are redacted. */
  readonly updates?: readonly string[]
}

/** Hooks for the end of an instance. Each is called at least once after the status is durable, and again after a crash or an error. */
export interface Hooks {
  /** The code returned. */
  readonly onCompleted?: Hook
  /** The code threw, or the instance timed out. */
  readonly onFailed?: Hook
  /** The instance was cancelled. */
  readonly onCancelled?: Hook
  /** The code and the journal disagree, or the instance has crashed its workers too often. */
  readonly onStalled?: Hook
}

export const hookNames = ["onCompleted", "onFailed", "onCancelled", "onStalled"] as const satisfies readonly (keyof Hooks)[]

/** A function that is called when an instance has ended or stalled. If it throws, the error is logged, and the function is called again later. */
export type Hook = (ended: HookEvent) => unknown

/** The argument of a hook. */
export interface HookEvent {
  /** The id of the instance. */
  readonly id: string
  /** The name of the instance's workflow. */
  readonly workflow: string
  /** The version that the instance was started with. */
  readonly version: string
  /** The number of the run, from 1 on. */
  readonly run: number
  /** The status of the instance. */
  readonly status: "completed" | "failed" | "cancelled" | "stalled"
  /** The result, if the instance completed. */
  readonly result?: unknown
  /** The error of a failure, or the reason of a stall. */
  readonly error?: unknown
}

/** The payloads of schemas as the code sees them. */
export type SchemaOutputs<S> = { [K in keyof S]: S[K] extends StandardSchemaV1 ? InferOutput<S[K]> : never }
/** The payloads of schemas as senders give them. */
export type SchemaInputs<S> = { [K in keyof S]: S[K] extends StandardSchemaV1 ? InferInput<S[K]> : never }
type NoSchemas = { readonly input?: never; readonly events?: never }

type Options<In> = Omit<WorkflowSettings<In>, "input" | "events">
/** The function of a workflow. `Again` is the input of `continueAsNew`: the input of a start, before a schema converts it. */
type Code<Events, Input, Out, Handlers, Again = Input> = (ctx: Context<Events, NoInfer<Again>, Handlers>, input: Input) => Promise<Out>

/**
 * Defines a workflow: a name, and the function that is its code. The function gives the types of input, events and result; schemas in the options take
 * precedence. The function must depend only on its input and on `ctx`, because it runs again each time an instance is replayed. Throws `BAD_NAME` for a
 * wrong name, and `BAD_OPTION` or `BAD_DURATION` for a wrong option.
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
/** Defines a workflow whose schemas give the types of input and events. */
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
  const options = typeof first === "function" ? {} : first
  const run = typeof first === "function" ? first : second
  // The engine checks the length of names, because its limits can be set.
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
  if (options.retention !== undefined) retentionMs(options.retention, `retention of workflow "${name}"`)
  if (options.rollbackPolicy !== undefined) checkRollbackPolicy(name, options.rollbackPolicy)
  checkFlowOptions(name, options)
  return { name, version, options, run }
}

/** The version of a workflow that names none. */
export const defaultVersion = "1"

/** Refuses unknown names: a misspelt one would leave sensitive data visible. */
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
