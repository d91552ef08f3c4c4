import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { executionContext } from "../../dialects/cloudflare-workflows/execution-context.ts"
import { program, type DialectOptions, type WorkflowBindings, type WorkflowSources } from "../../dialects/cloudflare-workflows/workflow-program.ts"
import { workflowClient } from "../client/workflow-client.ts"
import type { ObjectNamespace } from "../platform/platform.ts"
import { namespaceOf } from "./namespace.ts"

/** Options of `cloudflareWorkflows`. */
export interface CloudflareWorkflowsOptions extends DialectOptions {
  /** What the classes get in their `env`, beside the `env` of the Worker and the bindings of the workflows. Default: nothing. */
  readonly extraEnv?: Readonly<Record<string, unknown>>
  /** The name of the binding to the runner's class. Default `"WORKFLOW_RUNNER"`. */
  readonly binding?: string
}

/**
 * The workflows of a Cloudflare program, for `createWorkflowRunner`.
 *
 * @example
 * export const WorkflowRunner = createWorkflowRunner({ workflows: cloudflareWorkflows({ CHECKOUT: Checkout }) })
 */
export function cloudflareWorkflows(sources: WorkflowSources, options: CloudflareWorkflowsOptions = {}): readonly AnyWorkflow[] {
  const { binding = "WORKFLOW_RUNNER", extraEnv, ...rest } = options
  let environment: Readonly<Record<string, unknown>> | undefined
  const client = () => workflowClient(namespaceOf(environment ?? {}, binding))
  const { definitions, bindings, exports, workflows } = program(sources, rest, client, async () => {
    environment ??= (await import("cloudflare:workers")).env as Readonly<Record<string, unknown>>
    return { env: { ...environment, ...extraEnv, ...bindings }, ctx: executionContext(exports, console), workflows }
  })
  return definitions
}

/**
 * The bindings of these workflows, for the Worker's handlers: `env.CHECKOUT` of Cloudflare Workflows. `namespace` is the binding to the runner's class.
 *
 * @example
 * const { CHECKOUT } = cloudflareBindings(env.WORKFLOW_RUNNER, { CHECKOUT: Checkout })
 * const instance = await CHECKOUT.create({ id: "c-1", params: { cart: "7" } })
 */
export function cloudflareBindings<const W extends WorkflowSources>(namespace: ObjectNamespace, sources: W): WorkflowBindings<W> {
  const { bindings } = program(
    sources,
    {},
    () => workflowClient(namespace),
    () => ({ env: {}, ctx: executionContext({}, console), workflows: {} }),
  )
  return bindings as WorkflowBindings<W>
}
