import type { Client } from "./client-api/client-api.ts"
import { setCurrentProgram } from "./dialects/cloudflare-workflows/modules/current-program.ts"
import { executionContext } from "./dialects/cloudflare-workflows/execution-context.ts"
import { program, syncSchedules, type DialectOptions, type WorkflowBindings, type WorkflowSources } from "./dialects/cloudflare-workflows/workflow-program.ts"
import type { PublicEngine } from "./engine/public-engine.ts"
import { Perdure, type PerdureOptions } from "./index.ts"

/** Options of `openWorkflows`: those of an engine, with classes in place of definitions. */
export interface OpenWorkflowsOptions<W extends WorkflowSources, Env extends object> extends Omit<PerdureOptions, "workflows" | "retry">, DialectOptions {
  /** A class for each binding, or a class with the options that wrangler.jsonc has for it. */
  readonly workflows: W
  /** What the classes get as `env`, beside the bindings. Default: nothing. */
  readonly env?: Env
}

/** What `openWorkflows` gives. */
export interface OpenedWorkflows<W extends WorkflowSources, Env extends object> {
  /** The given `env` and the bindings: what the classes get. */
  readonly env: Env & WorkflowBindings<W>
  /** The engine that runs the workflows. Its ids are `<workflow>:<id>`. */
  readonly engine: PublicEngine
}

/**
 * Runs a program that was written for Cloudflare Workflows: opens an engine with its classes, and gives the bindings. Cron schedules that the options name
 * are created, and others of these workflows deleted. Throws what `Perdure.open` throws.
 *
 * @example
 * const { env, engine } = await openWorkflows({ store: sqlite("app.db"), workflows: { CHECKOUT: Checkout } })
 * const instance = await env.CHECKOUT.create({ id: "c-1", params: { cart: "7" } })
 * console.log(await instance.status())
 * await engine.close()
 */
export async function openWorkflows<const W extends WorkflowSources, Env extends object = object>(
  options: OpenWorkflowsOptions<W, Env>,
): Promise<OpenedWorkflows<W, Env>> {
  const { workflows: sources, env: given, retryDelay, ...rest } = options
  // Instances that the engine goes on with may use their bindings while it is being opened.
  const opening: { engine?: Promise<PublicEngine> } = {}
  const client = () => opening.engine as Promise<Client>
  const dialect = retryDelay === undefined ? {} : { retryDelay }
  const { definitions, bindings, exports, workflows } = program(sources, dialect, client, () => ({
    env,
    ctx: executionContext(exports, rest.log ?? console),
    workflows,
  }))
  const env = { ...given, ...bindings } as unknown as Env & WorkflowBindings<W>
  setCurrentProgram({ env, exports })
  opening.engine = Perdure.open({ ...rest, workflows: definitions })
  const engine = await opening.engine
  if (rest.role !== "client") await syncSchedules(engine, sources)
  return { env, engine }
}

export { cloudflareBindings, cloudflareWorkflows, type CloudflareWorkflowsOptions } from "./cloudflare/runner/cloudflare-workflows.ts"
export { NonRetryableError } from "./dialects/cloudflare-workflows/workflow-errors.ts"
export {
  WorkflowEntrypoint,
  type WorkflowCronSchedule,
  type WorkflowEntrypointClass,
  type WorkflowEvent,
  type WorkflowExecutionContext,
} from "./dialects/cloudflare-workflows/workflow-entrypoint.ts"
export type { WorkflowSleepDuration } from "./dialects/cloudflare-workflows/cloudflare-duration.ts"
export type { InstanceStatus } from "./dialects/cloudflare-workflows/instance-status.ts"
export type { WorkflowInstanceEvent, WorkflowInstanceEventType } from "./dialects/cloudflare-workflows/instance-event.ts"
export type { WorkflowInstanceSubscribeOptions, WorkflowInstanceSubscription } from "./dialects/cloudflare-workflows/instance-subscription.ts"
export type {
  WorkflowBackoff,
  WorkflowDelayDuration,
  WorkflowDelayFunction,
  WorkflowDynamicDelayContext,
  WorkflowStepConfig,
  WorkflowStepContext,
  WorkflowStepSensitivity,
  WorkflowTimeoutDuration,
} from "./dialects/cloudflare-workflows/step-config.ts"
export type {
  WorkflowBatchCreateOptions,
  WorkflowBatchCreateResult,
  WorkflowBatchDeleteResult,
  WorkflowBinding,
  WorkflowInstanceCreateOptions,
} from "./dialects/cloudflare-workflows/workflow-binding.ts"
export type { WorkflowRetention, WorkflowSpec } from "./dialects/cloudflare-workflows/workflow-definition.ts"
export type { WorkflowInstanceRestartOptions } from "./dialects/cloudflare-workflows/instance-calls.ts"
export type { WorkflowInstance } from "./dialects/cloudflare-workflows/workflow-instance.ts"
export type { DialectOptions, WorkflowBindings, WorkflowSources } from "./dialects/cloudflare-workflows/workflow-program.ts"
export type {
  WorkflowRollbackContext,
  WorkflowRollbackHandler,
  WorkflowStep,
  WorkflowStepEvent,
  WorkflowStepRollbackConfig,
  WorkflowStepRollbackOptions,
} from "./dialects/cloudflare-workflows/workflow-step.ts"
