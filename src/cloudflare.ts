import { PerdureError } from "./core/errors.ts"
import type { EventMap } from "./core/workflow.ts"
import type { WorkflowSource } from "./core/workflow-source.ts"
import { BaseWorkflow as ClientWorkflow } from "./dialects/class/base-workflow.ts"
import type { Client } from "./engine/client.ts"
import { scheduleIdOf } from "./core/schedule.ts"
import { StoredLimits } from "./engine/limit-control.ts"
import { declaredLimits, declaredNumbers } from "./engine/flow-control.ts"
import { WorkflowRegistry } from "./engine/registry.ts"
import { type EngineOptions, engineSettings } from "./engine/settings.ts"
import { type EdgeClient, ObjectClient } from "./hosts/cloudflare/object-client.ts"
import { InstanceObject } from "./hosts/cloudflare/instance-object.ts"
import { objectLimits } from "./hosts/cloudflare/object-limits.ts"
import { ObjectSchedules } from "./hosts/cloudflare/object-schedules.ts"
import { ScheduleObject } from "./hosts/cloudflare/schedule-object.ts"
import { LimitObject } from "./hosts/cloudflare/limit-object.ts"
import { NumbersObject } from "./hosts/cloudflare/numbers-object.ts"
import type { ObjectNamespace } from "./hosts/cloudflare/platform.ts"
import { IndexOverview } from "./hosts/cloudflare/overviews.ts"
import { StubNetwork } from "./hosts/cloudflare/stub-network.ts"
import { workflowRunnerClass, type WorkflowRunnerClass } from "./hosts/cloudflare/workflow-runner.ts"
import { workerApp, type WorkerApp, type WorkerAppOptions } from "./http/worker-app.ts"
import type { Logger } from "./ports/host.ts"
import { EdgeSchedules } from "./stores/cloudflare/edge-schedules.ts"
import { OrderSender } from "./stores/cloudflare/order-sender.ts"
import { listSchedules } from "./stores/cloudflare/sharded-schedules.ts"
import { EdgeStore } from "./stores/cloudflare/edge-store.ts"
import { IndexSender } from "./stores/cloudflare/index-sender.ts"
import { limitKeyOf, limitName, numbersName, partOf, roleOf, scheduleName } from "./stores/cloudflare/object-name.ts"
import { PermitSender } from "./stores/cloudflare/permit-sender.ts"
import { ShardedChanges } from "./stores/cloudflare/sharded-changes.ts"
import { ShardedIndex } from "./stores/cloudflare/sharded-index.ts"
import { ShardLayout, type ShardOptions } from "./stores/cloudflare/shard-layout.ts"
import { emptiedStorage } from "./stores/sqlite/emptied-storage.ts"
import { writtenKind } from "./stores/sqlite/object-kind.ts"
import { ObjectSqlDriver } from "./stores/sqlite/object-sql-driver.ts"
import type { ObjectStorage } from "./stores/sqlite/object-storage.ts"
import { objectStore } from "./stores/sqlite/object-store.ts"
import { objectTableParts, SqliteObjectTables } from "./stores/sqlite/object-tables.ts"
import { isLimitKey, SqliteLimitKey } from "./stores/sqlite/limits/sqlite-limit-key.ts"
import { SqliteLimitNumbers } from "./stores/sqlite/limits/sqlite-limit-numbers.ts"
import { SqliteObjectSchedule } from "./stores/sqlite/sqlite-object-schedule.ts"
import { SqliteObjectPermits } from "./stores/sqlite/sqlite-object-permits.ts"
import { SqliteIndexShard } from "./stores/sqlite/shards/sqlite-index-shard.ts"

export interface WorkflowRunnerOptions
  extends Omit<EngineOptions, "lease" | "sweep" | "execute" | "taskQueues" | "maxResidentInstances" | "maxResidentBytes">, ShardOptions {
  readonly workflows: readonly WorkflowSource[]
  /** The name of the binding to this very class. Default `"WORKFLOW_RUNNER"`. */
  readonly binding?: string
  /** Default: warnings and errors to the console. */
  readonly log?: Logger
}

const changesMax = 100

const objectNames = { limit: limitName, numbers: numbersName }

/** The one class of Durable Objects that runs all workflows; an object for each instance. */
export function createWorkflowRunner({
  workflows,
  binding = "WORKFLOW_RUNNER",
  log = console,
  indexShards,
  previousShards,
  ...options
}: WorkflowRunnerOptions): WorkflowRunnerClass {
  const shards: ShardOptions = { ...(indexShards === undefined ? {} : { indexShards }), ...(previousShards === undefined ? {} : { previousShards }) }
  const layout = new ShardLayout(shards)
  const numbersOf = declaredNumbers(workflows)
  // What is wrong with them is said when the Worker is loaded, and not by each object.
  const registry = new WorkflowRegistry(workflows, engineSettings(options).limits)
  return workflowRunnerClass((state, env) => {
    const storage = emptiedStorage(state.storage as typeof state.storage & ObjectStorage)
    const now = () => Date.now()
    const driver = new ObjectSqlDriver(storage, objectTableParts)
    const tables = new SqliteObjectTables(driver, now, (id) => layout.shardOf(id))
    const permits = new SqliteObjectPermits(driver)
    const network = new StubNetwork(() => namespaceOf(env, binding), objectNames)
    const slots = new PermitSender(permits, (key) => network.limit(key), now, log)
    const shardOf = (name: string) => network.shard(name)
    const overview = new ShardedIndex(layout, shardOf)
    const { name } = state.id
    const common = { storage, workflows, options, log, now }
    const onEnded = async (id: string) => {
      const schedule = scheduleIdOf(id)
      if (schedule !== undefined) await network.scheduleEnded(scheduleName(schedule))
    }
    const instance = () =>
      new InstanceObject({
        ...common,
        name,
        tables,
        network,
        index: new IndexSender(tables, layout, shardOf, now, log, onEnded, (run, ms) => void setTimeout(run, ms)),
        slots,
        permits,
        layout: shards,
        openStore: (own, onWritten) => ({
          name: "edge",
          open: async (context) => {
            const local = await objectStore(storage, tables.outlet, permits).open(context)
            return new EdgeStore({ local, own, network, overview, permits: slots, onWritten })
          },
        }),
      })
    const schedule = () => {
      const rows = new SqliteObjectSchedule(driver)
      return new ScheduleObject({
        ...common,
        tables: rows,
        orders: new OrderSender(rows, network, layout, shardOf, now, log),
        openStore: (onWritten) => ({
          name: "schedule",
          open: async (context) => {
            const local = await objectStore(storage, tables.outlet).open(context)
            const directory = { get: (id: string) => network.peer(id).get() }
            const schedules = new EdgeSchedules({ local: local.schedules, tables: rows, directory, now, onWritten })
            return new EdgeStore({ local, own: () => undefined, network, overview, permits: slots, schedules, onWritten })
          },
        }),
      })
    }
    return {
      kind: () => (name === undefined ? writtenKind(driver) : roleOf(name).kind),
      instance: partOf(name, "instance", instance),
      schedule: partOf(name, "schedule", schedule),
      shard: partOf(name, "shard", () => new SqliteIndexShard(new ObjectSqlDriver(storage), now)),
      limit: partOf(name, "limit", () => {
        const own = new ObjectSqlDriver(storage)
        const open = () => new SqliteLimitKey(own, now, numbersOf)
        return new LimitObject({ key: limitKeyOf(name), storage, network, now, log, isThere: () => isLimitKey(own), open })
      }),
      numbers: partOf(name, "numbers", () => {
        const declared = (workflow: string) => declaredLimits(registry).find((limits) => limits.workflow === workflow)?.limits ?? []
        return new NumbersObject(new SqliteLimitNumbers(new ObjectSqlDriver(storage)), declared, storage, network, now, log)
      }),
    }
  })
}

/** A client of the instances behind the binding. */
export function workflowClient(binding: ObjectNamespace): EdgeClient {
  const network = new StubNetwork(() => binding, objectNames)
  const overview = new IndexOverview(async () => {
    const layout = new ShardLayout(await client.layout())
    const index = new ShardedIndex(layout, (name) => network.shard(name))
    const changes = new ShardedChanges(layout, (name) => network.shard(name))
    return {
      list: (filter, page) => index.list(filter, page),
      count: (filter, by) => index.count(filter, by),
      changes: (after) => changes.read(after, changesMax),
      latestChange: () => changes.latest(),
      listSchedules: (request) => listSchedules(layout, (name) => network.shard(name), request),
    }
  })
  const client: ObjectClient = new ObjectClient(binding, {
    list: (filter) => overview.list(filter),
    count: (filter, by) => overview.count(filter, by),
    changes: (cursor) => overview.changes(cursor),
    schedules: new ObjectSchedules({
      callSchedule: (id, method, args) => client.callSchedule(scheduleName(id), id, method, args),
      listSchedules: (filter) => overview.listSchedules(filter),
      get: (id) => client.get(id),
    }),
    limits: new StoredLimits(
      objectLimits((workflow) => network.numbers(workflow)),
      () => undefined,
    ),
  })
  return client
}

/** The HTTP API of the instances behind the binding, as the default export of a Worker. */
export function createWorkerApp({ binding = "WORKFLOW_RUNNER", ...options }: WorkerAppOptions = {}): WorkerApp {
  return workerApp(options, (env) => workflowClient(namespaceOf(env, binding)))
}

/** As in `perdure`; its helpers take the Worker's `env`, with a binding `WORKFLOW_RUNNER`, or the binding itself, or any client. */
export abstract class BaseWorkflow<Payload = void, Result = unknown, Events = EventMap> extends ClientWorkflow<Payload, Result, Events> {
  static override clientOf(target: object): Client {
    if (isNamespace(target)) return workflowClient(target)
    return "WORKFLOW_RUNNER" in target ? workflowClient(namespaceOf(target, "WORKFLOW_RUNNER")) : super.clientOf(target)
  }
}

function isNamespace(value: unknown): value is ObjectNamespace {
  return typeof value === "object" && value !== null && "idFromName" in value
}

function namespaceOf(env: unknown, binding: string): ObjectNamespace {
  const found = (env as Record<string, unknown>)[binding]
  if (isNamespace(found)) return found
  throw new PerdureError("BAD_OPTION", `the Worker has no Durable Object binding "${binding}"; add it, or tell createWorkflowRunner the name it has`)
}

export { eventSchema } from "./dialects/class/event-schema.ts"
export type { CreateOptions, WorkflowClass } from "./dialects/class/base-workflow.ts"
export type { ClassStepOptions, Step, StepDefaults, StepFunction, StepRetries } from "./dialects/class/step.ts"
export type { WorkerApp, WorkerAppOptions, WorkerHttpOptions } from "./http/worker-app.ts"
export type { ObjectNamespace } from "./hosts/cloudflare/platform.ts"
export type { EdgeClient, EdgeStartOptions } from "./hosts/cloudflare/object-client.ts"
export type { DeliverRequest, InitializeRequest, WorkflowRunnerClass, WorkflowRunnerObject } from "./hosts/cloudflare/workflow-runner.ts"
