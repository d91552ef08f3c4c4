import { scheduleIdOf } from "../../core/time/schedule.ts"
import { defaultLimits } from "../../core/workflow/input-limits.ts"
import { declaredLimits, declaredNumbers } from "../../engine/flow-control/flow-keys.ts"
import { payloadCodecs } from "../../engine/payload-codec-store.ts"
import { engineSettings } from "../../engine/settings.ts"
import { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import { SafeLogger } from "../../hosts/safe-logger.ts"
import { isLimitKey, SqliteLimitKey } from "../../stores/sqlite/object/limits/sqlite-limit-key.ts"
import { SqliteLimitSettings } from "../../stores/sqlite/object/limits/sqlite-limit-settings.ts"
import { kindFromTables } from "../../stores/sqlite/object/object-kind.ts"
import { SqliteObjectSchedule } from "../../stores/sqlite/object/object-schedule-table.ts"
import { ObjectSqlDriver } from "../../stores/sqlite/object/object-sql-driver.ts"
import { SqliteShardTaskQueues } from "../../stores/sqlite/object/shards/shard-task-queues.ts"
import { SqliteShardSchedules } from "../../stores/sqlite/object/shards/shard-schedules.ts"
import { SqliteTaskQueue } from "../../stores/sqlite/object/tasks/sqlite-task-queue.ts"
import { SqliteIndexShard } from "../../stores/sqlite/object/shards/sqlite-index-shard.ts"
import { InstanceObject } from "../objects/instance-object.ts"
import { LimitObject } from "../objects/limit-object.ts"
import { ObjectHost } from "../objects/object-host.ts"
import { LimitSettingsObject } from "../objects/limit-settings-object.ts"
import { OutboxSender } from "../objects/outbox-sender.ts"
import { ScheduleObject } from "../objects/schedule-object.ts"
import { TaskQueueObject } from "../objects/task-queue-object.ts"
import { IndexPublisher } from "../store/index-publisher.ts"
import { limitKeyFromName, roleOpener, roleOf, scheduleName, taskQueueFromName } from "../store/object-name.ts"
import { ScheduleOrderSender } from "../store/schedule-order-sender.ts"
import { TaskQueuePublisher } from "../store/task-queue-publisher.ts"
import type { ObjectEnvironment } from "./object-environment.ts"
import { ObjectFlow } from "./object-flow.ts"
import { openObjectStore } from "./open-object-store.ts"
import type { ObjectRoles } from "./runner-class.ts"

/** Opens the roles of one object. The object's name decides which role it may have, and the role is constructed at its first use. */
export function objectRoles(environment: ObjectEnvironment): ObjectRoles {
  const { name, driver } = environment
  return {
    kind: () => (name === undefined ? kindFromTables(driver) : roleOf(name).kind),
    instance: roleOpener(name, "instance", () => openInstance(environment)),
    shard: roleOpener(name, "shard", () => new SqliteIndexShard(new ObjectSqlDriver(environment.storage), environment.now)),
    shardSchedules: roleOpener(name, "shard", () => new SqliteShardSchedules(new ObjectSqlDriver(environment.storage))),
    shardTaskQueues: roleOpener(name, "shard", () => new SqliteShardTaskQueues(new ObjectSqlDriver(environment.storage))),
    schedule: roleOpener(name, "schedule", () => openSchedule(environment)),
    limit: roleOpener(name, "limit", () => openLimit(environment)),
    limitSettings: roleOpener(name, "limit-settings", () => openLimitSettings(environment)),
    taskQueue: roleOpener(name, "task-queue", () => openTaskQueue(environment)),
  }
}

function openInstance(environment: ObjectEnvironment): InstanceObject {
  const { name, storage, tables, network, shardOf, now, config } = environment
  const { registry, options, layout, shards, log } = config
  const flow = new ObjectFlow(environment)
  const onEnded = async (id: string) => {
    const schedule = scheduleIdOf(id)
    if (schedule !== undefined) await network.scheduleEnded(scheduleName(schedule))
  }
  return new InstanceObject({
    name,
    storage,
    tables,
    network,
    index: new IndexPublisher({ tables, layout, shardOf, now, log, onEnded, setTimer }),
    outbox: new OutboxSender(tables, network, now, new SafeLogger(log)),
    slotRequester: flow.requester,
    slotRequests: flow.requests,
    layout: shards,
    workflows: registry,
    options,
    log,
    now,
    openStore: (hooks) => ({ name: "object", open: async (context) => openObjectStore(environment, context, flow, hooks) }),
  })
}

function openSchedule(environment: ObjectEnvironment): ScheduleObject {
  const { driver, storage, network, shardOf, now, config } = environment
  const { layout, registry, options, log } = config
  const flow = new ObjectFlow(environment)
  const rows = new SqliteObjectSchedule(driver)
  return new ScheduleObject({
    storage,
    workflows: registry,
    options,
    log,
    now,
    tables: rows,
    orders: new ScheduleOrderSender(rows, network, layout, shardOf, now, log),
    openStore: (afterWrite) => ({
      name: "schedule",
      open: async (context) => {
        const hooks = { ownId: () => undefined, beforeFirstWrite: () => undefined, afterWrite }
        return openObjectStore(environment, context, flow, hooks, rows)
      },
    }),
  })
}

function openLimit({ name, storage, network, now, config }: ObjectEnvironment): LimitObject {
  const driver = new ObjectSqlDriver(storage)
  const open = () => new SqliteLimitKey(driver, now, declaredNumbers(config.workflows))
  return new LimitObject({ key: limitKeyFromName(name), storage, network, now, log: config.log, isThere: () => isLimitKey(driver), open })
}

function openLimitSettings({ storage, network, now, config }: ObjectEnvironment): LimitSettingsObject {
  const registry = new WorkflowRegistry(config.workflows, defaultLimits)
  const declared = (name: string) => declaredLimits(registry).find(({ workflow }) => workflow === name)?.limits ?? []
  return new LimitSettingsObject(new SqliteLimitSettings(new ObjectSqlDriver(storage)), declared, storage, network, now, config.log)
}

function openTaskQueue({ name, storage, network, shardOf, now, config }: ObjectEnvironment): TaskQueueObject {
  const { layout, options } = config
  const host = new ObjectHost(storage, config.log, now)
  const { log } = host
  const rows = new SqliteTaskQueue(new ObjectSqlDriver(storage), now)
  return new TaskQueueObject({
    storage,
    rows,
    outbox: new OutboxSender(rows, network, now, log),
    index: new TaskQueuePublisher({ queue: taskQueueFromName(name), rows, layout, shardOf, now, log }),
    host,
    settings: engineSettings(options, { codecs: payloadCodecs(options) }),
  })
}

const setTimer = (run: () => void, ms: number): (() => void) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
