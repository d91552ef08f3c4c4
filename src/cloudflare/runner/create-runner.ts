import type { AnyActivity } from "../../core/workflow/activity.ts"
import type { WorkflowSource } from "../../core/workflow/workflow-source.ts"
import { payloadCodecs } from "../../engine/payload-codec-store.ts"
import { type EngineOptions, engineSettings, objectSettings } from "../../engine/settings.ts"
import { activityWorkflow } from "../../engine/tasks/activity-workflow.ts"
import { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import type { Logger } from "../../ports/host.ts"
import { StubNetwork } from "../objects/object-rpc.ts"
import { ShardLayout, type ShardOptions } from "../store/shard-layout.ts"
import { namespaceOf } from "./namespace.ts"
import { ObjectEnvironment, type RunnerConfig } from "./object-environment.ts"
import { objectRoles } from "./object-roles.ts"
import { workflowRunnerClass, type WorkflowRunnerClass } from "./runner-class.ts"

/** Options of `createWorkflowRunner`: the workflows, and the options of an engine except those that make no sense for one instance in one object. */
export interface WorkflowRunnerOptions extends Omit<EngineOptions, "lease" | "sweep" | "execute" | "maxResidentInstances" | "maxResidentBytes">, ShardOptions {
  /** The workflows that the objects can execute. Keep each version until the last instance that was started with it has ended. */
  readonly workflows: readonly WorkflowSource[]
  /** The activities that the objects run themselves. All others wait in their task queues for other processes. Default: none. */
  readonly activities?: readonly AnyActivity[]
  /** The task queues whose activities the objects run themselves, of those in `activities`. Default: all. */
  readonly taskQueues?: readonly string[]
  /** The name of the binding to the class that this call returns. Default `"WORKFLOW_RUNNER"`. */
  readonly binding?: string
  /** The logger of the objects. Default: the console. */
  readonly log?: Logger
}

/**
 * Creates the one class of Durable Objects that runs all workflows; each instance has an object of its own. Export the class from the Worker, and
 * bind it with SQLite storage under the name `WORKFLOW_RUNNER`, or under the name that `binding` gives. Throws `BAD_OPTION` for a wrong option.
 *
 * @example
 * export const WorkflowRunner = createWorkflowRunner({ workflows: [order] })
 */
export function createWorkflowRunner({
  workflows,
  binding = "WORKFLOW_RUNNER",
  log = console,
  indexShards,
  previousShards,
  ...options
}: WorkflowRunnerOptions): WorkflowRunnerClass {
  const shards: ShardOptions = { ...(indexShards === undefined ? {} : { indexShards }), ...(previousShards === undefined ? {} : { previousShards }) }
  // A wrong option throws here, when the Worker is loaded, and not later in each object.
  const settings = objectSettings(engineSettings(options, { codecs: payloadCodecs(options) }), options)
  const known = settings.activities.length === 0 ? workflows : [...workflows, activityWorkflow]
  const registry = new WorkflowRegistry(known, settings.limits)
  const config: RunnerConfig = { workflows: known, registry, options, shards, layout: new ShardLayout(shards), log }
  return workflowRunnerClass((state, env) => {
    const network = new StubNetwork(() => namespaceOf(env, binding))
    return objectRoles(new ObjectEnvironment(config, state, network))
  })
}
