import type { Context } from "../../core/workflow/context.ts"
import { workflow, type AnyWorkflow, type WorkflowSettings } from "../../core/workflow/workflow.ts"
import type { Retention } from "../../core/workflow/retention.ts"
import { cloudflareDurationMs } from "./cloudflare-duration.ts"
import { ContextStep } from "./context-step.ts"
import { newEntrypoint, type Surroundings } from "./entrypoint-construction.ts"
import { cronOf, shortId } from "./instance-id.ts"
import { runAsWorkflow } from "./running-code.ts"
import type { WorkflowEntrypointClass, WorkflowEvent } from "./workflow-entrypoint.ts"
import { WorkflowError, type WorkflowFatalError } from "./workflow-errors.ts"

const stepsMax = 10_000

/** Throws a `WorkflowError` for what is no duration. */
export function nativeRetention(retention: WorkflowRetention | undefined): { retention?: Retention } {
  const { successRetention, errorRetention } = retention ?? {}
  const native = { ...keptFor("completed", successRetention), ...keptFor("failed", errorRetention) }
  return Object.keys(native).length === 0 ? {} : { retention: native }
}

function keptFor(what: "completed" | "failed", duration: number | string | undefined): Retention {
  if (duration === undefined) return {}
  const ms = cloudflareDurationMs(duration)
  if (ms > 0) return { [what]: ms }
  throw new WorkflowError(`retention ${JSON.stringify(duration)} is no duration: give milliseconds, or text such as "7 days"`)
}

/** A workflow as wrangler.jsonc describes it. */
export interface WorkflowSpec {
  /** The class of the workflow. */
  readonly class: WorkflowEntrypointClass
  /** The name of the workflow: instances are stored under it. Default: the name of the binding in lower case, with `-` for `_`. */
  readonly name?: string
  /** How many steps an instance may have. Default 10,000. */
  readonly limits?: { readonly steps?: number }
  /** How many instances run at the same time. Default: any number. */
  readonly concurrency?: number
  /** Cron expressions that each create instances. */
  readonly schedules?: string | readonly string[]
  /** How long an ended instance is kept, where its creation names no retention. */
  readonly default_retention?: WorkflowRetention
  /** The version of the code; instances keep the one they were created with. Default `"1"`. */
  readonly version?: string
}

/** How long an ended instance is kept: milliseconds, or text such as `"7 days"`. */
export interface WorkflowRetention {
  /** Of an instance that is complete. */
  readonly successRetention?: number | string
  /** Of an instance that errored or was terminated. */
  readonly errorRetention?: number | string
}

export interface DefinitionOptions {
  /** Milliseconds before a step's second attempt, where its config names no delay. */
  readonly retryDelayMs: number
  /** What the class is constructed with. */
  surroundings(): Promise<Surroundings> | Surroundings
}

export function specOf(source: WorkflowEntrypointClass | WorkflowSpec): WorkflowSpec {
  return typeof source === "function" ? { class: source } : source
}

export function workflowNameOf(binding: string, { name }: WorkflowSpec): string {
  return name ?? binding.toLowerCase().replaceAll("_", "-")
}

/** The native workflow that a class stands for. */
export function workflowDefinition(name: string, spec: WorkflowSpec, options: DefinitionOptions): AnyWorkflow {
  const settings: WorkflowSettings = {
    rollbackPolicy: { of: "started", onFailure: "stop" },
    ...(spec.version === undefined ? undefined : { version: spec.version }),
    ...(spec.concurrency === undefined ? undefined : { concurrency: spec.concurrency }),
    ...nativeRetention(spec.default_retention),
  }
  const stepSettings = { retryDelayMs: options.retryDelayMs, stepsMax: spec.limits?.steps ?? stepsMax }
  return workflow(name, settings as object, async (ctx: Context, params: unknown) => {
    let end!: (error: WorkflowFatalError) => void
    const ended = new Promise<never>((_, reject) => (end = reject))
    const surroundings = options.surroundings()
    const given = surroundings instanceof Promise ? await surroundings : surroundings
    const step = new ContextStep(ctx, stepSettings, end)
    const run = () => newEntrypoint(spec.class, given).run(eventOf(ctx, name, params), step)
    return Promise.race([ended, runAsWorkflow(ctx, run)])
  }) as AnyWorkflow
}

function eventOf(ctx: Context, workflowName: string, params: unknown): WorkflowEvent<unknown> {
  const { id, schedule } = ctx.instance
  const cron = schedule && cronOf(workflowName, schedule.id)
  return {
    payload: params === undefined ? {} : (params as Readonly<unknown>),
    timestamp: ctx.startTime,
    instanceId: shortId(workflowName, id),
    workflowName,
    ...(schedule && cron !== undefined ? { schedule: { cron, scheduledTime: schedule.scheduledAt } } : undefined),
  }
}
