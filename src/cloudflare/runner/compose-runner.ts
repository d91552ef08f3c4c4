import { hasFlow } from "../../core/workflow/flow-options.ts"
import { partMissing } from "../../core/execution/part-missing.ts"
import { hookNames, type Hooks } from "../../core/workflow/workflow.ts"
import { definitionOf, type WorkflowSource } from "../../core/workflow/workflow-source.ts"
import { codecsOf } from "../../engine/engine-core.ts"
import { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import { type EngineOptions, engineSettings } from "../../engine/settings.ts"
import { InstanceObject } from "../objects/instance-object.ts"
import { coreRpcMethods } from "../objects/instance-rpc-methods.ts"
import { StubNetwork } from "../objects/object-rpc.ts"
import { workflowRunnerClass, type WorkflowRunnerClass } from "./runner-class.ts"
import type { Logger } from "../../ports/host.ts"
import { IndexPublisher } from "../store/index-publisher.ts"
import { objectNames, partOf, roleOf } from "../store/object-name.ts"
import { ShardLayout, type ShardOptions } from "../store/shard-layout.ts"
import { writtenKind } from "../../stores/sqlite/object/object-kind.ts"
import { ObjectSqlDriver } from "../../stores/sqlite/object/object-sql-driver.ts"
import { objectTableParts } from "../../stores/sqlite/object/object-instance-tables.ts"
import { SqliteIndexShard } from "../../stores/sqlite/object/shards/sqlite-index-shard.ts"
import { namespaceOf } from "./namespace.ts"
import { ObjectEnvironment, type RunnerConfig } from "./object-environment.ts"
import { openObjectStore } from "./open-object-store.ts"
import { composed, type RunnerPart } from "./runner-feature.ts"

/** Options of `createWorkflowRunner`: the workflows, and what an engine elsewhere takes, without what makes no sense for one instance in one object. */
export interface WorkflowRunnerOptions
  extends Omit<EngineOptions, "lease" | "sweep" | "execute" | "taskQueues" | "maxResidentInstances" | "maxResidentBytes">, ShardOptions {
  /** What its objects can execute. Keep the versions that instances were started with for as long as these are not over. */
  readonly workflows: readonly WorkflowSource[]
  /** The name of the binding to this very class. Default `"WORKFLOW_RUNNER"`. */
  readonly binding?: string
  /** Where objects write to. Default: the console. */
  readonly log?: Logger
}

/** Options of `composeWorkflowRunner`: those of `createWorkflowRunner`, and the parts. */
export interface ComposedRunnerOptions extends WorkflowRunnerOptions {
  /** What the runner can do besides running instances. The Worker carries no code of others. */
  readonly parts: readonly RunnerPart[]
}

/**
 * As `createWorkflowRunner`, with these parts only: the Worker carries no code of the others. Throws `PART_MISSING` if a workflow or an option needs a part
 * that is not named; what else lacks its part throws that when it is asked for.
 *
 * @example
 * export const WorkflowRunner = composeWorkflowRunner({ workflows: [order], parts: [flowControl, queries] })
 */
export function composeWorkflowRunner({
  workflows,
  parts,
  binding = "WORKFLOW_RUNNER",
  log = console,
  indexShards,
  previousShards,
  ...options
}: ComposedRunnerOptions): WorkflowRunnerClass {
  const shards: ShardOptions = { ...(indexShards === undefined ? {} : { indexShards }), ...(previousShards === undefined ? {} : { previousShards }) }
  const { features = {}, tables = {}, flow, outbox, schedules, transactions, changes, answers } = composed(parts)
  // What is wrong with them is said when the Worker is loaded, and not by each object.
  const registry = new WorkflowRegistry(workflows, engineSettings(options, { codecs: codecsOf(options, features) }).limits)
  const setting: RunnerConfig = { registry, options, features, layout: new ShardLayout(shards), log, makeTable: objectTableParts(tables), outbox }
  if (!flow && options.maxConcurrentSteps !== undefined) throw partMissing("flowControl", "maxConcurrentSteps")
  if (!features.hooks) requireNoHooks("the runner", options)
  for (const workflow of workflows.map(definitionOf)) {
    if (flow) flow.check(workflow)
    else requireNoFlow(workflow)
    if (!features.hooks) requireNoHooks(`workflow "${workflow.name}"`, workflow.options)
  }
  return workflowRunnerClass((state, env) => {
    const site = new ObjectEnvironment(setting, state, new StubNetwork(() => namespaceOf(env, binding), objectNames))
    const { name, storage, driver, network, shardOf, now } = site
    const slots = flow?.slots(site)
    const onEnded = async (id: string) => schedules?.ended(site, id)
    const instance = () =>
      new InstanceObject({
        name,
        storage,
        tables: site.tables,
        network,
        index: new IndexPublisher({ tables: site.tables, layout: setting.layout, shardOf, now, log, onEnded, later, changesOf: changes?.told ?? untold }),
        outbox: outbox?.sender(site),
        slots: slots?.slots,
        layout: shards,
        workflows: registry,
        options,
        features,
        answersOf: (core) => ({ ...coreRpcMethods(core), ...answers?.(core) }),
        log,
        now,
        openStore: (edge) => ({
          name: "edge",
          open: async (context) =>
            openObjectStore(site, context, slots, edge, (local) => ({ transactions: transactions?.(local), changes: changes?.own(local) })),
        }),
      })
    const shardDriver = () => new ObjectSqlDriver(storage)
    return {
      kind: () => (name === undefined ? writtenKind(driver) : roleOf(name).kind),
      instance: partOf(name, "instance", instance),
      shard: partOf(name, "shard", () => new SqliteIndexShard(shardDriver(), now, changes?.index)),
      shardSchedules: partOf(name, "shard", () => required(schedules, "schedules", "the list of schedules").index(shardDriver())),
      schedule: partOf(name, "schedule", () => required(schedules, "schedules", "a schedule").schedule(site, slots)),
      limit: partOf(name, "limit", () => required(flow, "flowControl", "a limit").limit(site, workflows)),
      numbers: partOf(name, "numbers", () => required(flow, "flowControl", "a limit").numbers(site, workflows)),
    }
  })
}

const later = (run: () => void, ms: number): (() => void) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** Nobody asks the index for changes. */
const untold = (): readonly never[] => []

function required<T>(part: T | undefined, name: string, what: string): T {
  if (part === undefined) throw partMissing(name, what)
  return part
}

function requireNoFlow({ name, options }: ReturnType<typeof definitionOf>): void {
  if (hasFlow(options)) throw partMissing("flowControl", `workflow "${name}", which has flow control,`)
}

function requireNoHooks(what: string, options: Hooks): void {
  const hook = hookNames.find((name) => options[name] !== undefined)
  if (hook !== undefined) throw partMissing("hooks", `${what}, which has ${hook},`)
}
