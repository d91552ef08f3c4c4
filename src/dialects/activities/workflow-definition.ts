import { PerdureError } from "../../core/errors.ts"
import type { Context } from "../../core/workflow/context.ts"
import type { InferInput, InferOutput, StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"
import {
  workflow as nativeWorkflow,
  type AnyWorkflow,
  type EventMap,
  type SchemaInputs,
  type SchemaOutputs,
  type Workflow,
  type WorkflowSettings,
} from "../../core/workflow/workflow.ts"
import { type WorkflowContext, workflowContext } from "./workflow-context.ts"

/** Options of a workflow: those of `perdure`. Equal names of sleeps and activities are numbered, so `duplicateSteps` is not among them. */
export interface WorkflowOptions<In = unknown> extends Omit<WorkflowSettings<In>, "duplicateSteps" | "events"> {
  /** The signals of the workflow, each with the schema of its payload. Other signals are refused with `UNKNOWN_EVENT`. Default: any signal is accepted. */
  readonly signals?: Readonly<Record<string, StandardSchemaV1>>
}

type Options<In> = Omit<WorkflowOptions<In>, "input" | "signals">
/** The function of a workflow. `Again` is the input of `continueAsNew`: the input of a start, before a schema converts it. */
type Code<Signals, Input, Out, Handlers, Again = Input> = (ctx: WorkflowContext<Signals, NoInfer<Again>, Handlers>, input: Input) => Promise<Out>
type UntypedCode = (ctx: WorkflowContext, input: unknown) => Promise<unknown>

/**
 * Defines a workflow: a name, and the function that is its code. The function must depend only on its input and on `ctx`, because it runs again each time
 * it is replayed. The definition is one of `perdure`, so it also works in `Perdure.open` and in `createTestEngine`. Throws `BAD_NAME` for a wrong name, and
 * `BAD_OPTION` or `BAD_DURATION` for a wrong option.
 *
 * @example
 * const processOrder = workflow("processOrder", async (ctx, order: Order) => {
 *   await ctx.activity(reserveInventory, { input: order.items, retry: { maxAttempts: 3 } })
 *   const payment = await ctx.waitForSignal("payment", { timeout: "24h", default: null })
 *   return payment === null ? "cancelled" : "paid"
 * })
 */
export function workflow<Input = void, Out = unknown, Signals = EventMap, Handlers = unknown>(
  name: string,
  run: Code<Signals, Input, Out, Handlers>,
): Workflow<Input, Out, Signals, Signals, Handlers>
/** Defines a workflow whose schemas give the types of input and signals. */
export function workflow<I extends StandardSchemaV1, S extends Record<string, StandardSchemaV1>, Out, Handlers = unknown>(
  name: string,
  options: Options<InferOutput<I>> & { readonly input: I; readonly signals: S },
  run: Code<SchemaOutputs<S>, InferOutput<I>, Out, Handlers, InferInput<I>>,
): Workflow<InferInput<I>, Out, SchemaOutputs<S>, SchemaInputs<S>, Handlers>
export function workflow<I extends StandardSchemaV1, Out, Signals = EventMap, Handlers = unknown>(
  name: string,
  options: Options<InferOutput<I>> & { readonly input: I; readonly signals?: never },
  run: Code<Signals, InferOutput<I>, Out, Handlers, InferInput<I>>,
): Workflow<InferInput<I>, Out, Signals, Signals, Handlers>
export function workflow<S extends Record<string, StandardSchemaV1>, Out, Input = void, Handlers = unknown>(
  name: string,
  options: Options<Input> & { readonly input?: never; readonly signals: S },
  run: Code<SchemaOutputs<S>, Input, Out, Handlers>,
): Workflow<Input, Out, SchemaOutputs<S>, SchemaInputs<S>, Handlers>
export function workflow<Input = void, Out = unknown, Signals = EventMap, Handlers = unknown>(
  name: string,
  options: Options<Input> & { readonly input?: never; readonly signals?: never },
  run: Code<Signals, Input, Out, Handlers>,
): Workflow<Input, Out, Signals, Signals, Handlers>
export function workflow(name: string, first: WorkflowOptions | UntypedCode, second?: UntypedCode): AnyWorkflow {
  const { signals, ...options } = typeof first === "function" ? ({} as WorkflowOptions) : first
  const run = typeof first === "function" ? first : second
  if (typeof run !== "function")
    throw new PerdureError("BAD_OPTION", `workflow "${name}" has no function to run; write workflow("${name}", async (ctx, input) => …)`)
  const settings = { ...options, ...(signals && { events: signals }) } as object
  return nativeWorkflow(name, settings, (ctx: Context, input: unknown) => run(workflowContext(ctx), input))
}
