import { scheduleIdOf } from "../../core/time/schedule.ts"
import { defaultLimits } from "../../core/workflow/input-limits.ts"
import { declaredLimits, declaredNumbers } from "../../engine/flow-control/flow-keys.ts"
import { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import { SafeLogger } from "../../hosts/safe-logger.ts"
import { isLimitKey, SqliteLimitKey } from "../../stores/sqlite/object/limits/sqlite-limit-key.ts"
import { SqliteLimitSettings } from "../../stores/sqlite/object/limits/sqlite-limit-settings.ts"
import { writtenKind } from "../../stores/sqlite/object/object-kind.ts"
import { SqliteObjectSchedule } from "../../stores/sqlite/object/object-schedule-table.ts"
import { ObjectSqlDriver } from "../../stores/sqlite/object/object-sql-driver.ts"
import { SqliteShardSchedules } from "../../stores/sqlite/object/shards/shard-schedules.ts"
import { SqliteIndexShard } from "../../stores/sqlite/object/shards/sqlite-index-shard.ts"
import { SqliteScheduleStore } from "../../stores/sqlite/sqlite-schedule-store.ts"
import { InstanceObject } from "../objects/instance-object.ts"
import { LimitObject } from "../objects/limit-object.ts"
import { LimitSettingsObject } from "../objects/limit-settings-object.ts"
import { OutboxSender } from "../objects/outbox-sender.ts"
import { ScheduleObject } from "../objects/schedule-object.ts"
import { IndexPublisher } from "../store/index-publisher.ts"
import { instanceChanges } from "../store/instance-changes.ts"
import { limitKeyOf, partOf, roleOf, scheduleName } from "../store/object-name.ts"
import { ObjectScheduleClient } from "../store/object-schedules.ts"
import { ScheduleOrderSender } from "../store/schedule-order-sender.ts"
import type { ObjectEnvironment } from "./object-environment.ts"
import { ObjectFlow } from "./object-flow.ts"
import { openObjectStore } from "./open-object-store.ts"
import type { ObjectRoles } from "./runner-class.ts"

/** What an object of the runner's class may be: its name decides. Each role is constructed when it is first asked for. */
export function openRoles(site: ObjectEnvironment): ObjectRoles {
  const { name, driver } = site
  return {
    kind: () => (name === undefined ? writtenKind(driver) : roleOf(name).kind),
    instance: partOf(name, "instance", () => openInstance(site)),
    shard: partOf(name, "shard", () => new SqliteIndexShard(new ObjectSqlDriver(site.storage), site.now)),
    shardSchedules: partOf(name, "shard", () => new SqliteShardSchedules(new ObjectSqlDriver(site.storage))),
    schedule: partOf(name, "schedule", () => openSchedule(site)),
    limit: partOf(name, "limit", () => openLimit(site)),
    limitSettings: partOf(name, "limit-settings", () => openLimitSettings(site)),
  }
}

function openInstance(site: ObjectEnvironment): InstanceObject {
  const { name, storage, tables, network, shardOf, now, config } = site
  const { registry, options, layout, shards, log } = config
  const flow = new ObjectFlow(site)
  const onEnded = async (id: string) => {
    const schedule = scheduleIdOf(id)
    if (schedule !== undefined) await network.scheduleEnded(scheduleName(schedule))
  }
  return new InstanceObject({
    name,
    storage,
    tables,
    network,
    index: new IndexPublisher({ tables, layout, shardOf, now, log, onEnded, later, changesOf: instanceChanges }),
    outbox: new OutboxSender(tables, network, now, new SafeLogger(log)),
    slots: flow.slots,
    layout: shards,
    workflows: registry,
    options,
    log,
    now,
    openStore: (hooks) => ({ name: "object", open: async (context) => openObjectStore(site, context, flow, hooks) }),
  })
}

function openSchedule(site: ObjectEnvironment): ScheduleObject {
  const { driver, storage, network, shardOf, now, config } = site
  const { layout, registry, options, log } = config
  const flow = new ObjectFlow(site)
  const rows = new SqliteObjectSchedule(driver)
  return new ScheduleObject({
    storage,
    workflows: registry,
    options,
    log,
    now,
    tables: rows,
    orders: new ScheduleOrderSender(rows, network, layout, shardOf, now, log),
    openStore: (onWritten) => ({
      name: "schedule",
      open: async (context) => {
        // An instance that was ordered counts as present before it is known to have begun: else the schedule would decide on it again.
        const get = async (id: string) => rows.ordered(id) ?? network.peer(id).get()
        const store = openObjectStore(site, context, flow, { own: () => undefined, onWritten }, (local) => ({
          schedules: new ObjectScheduleClient({ local: new SqliteScheduleStore(local), tables: rows, get, now, onWritten }),
        }))
        store.directory.get = get
        return store
      },
    }),
  })
}

function openLimit({ name, storage, network, now, config }: ObjectEnvironment): LimitObject {
  const own = new ObjectSqlDriver(storage)
  const open = () => new SqliteLimitKey(own, now, declaredNumbers(config.workflows))
  return new LimitObject({ key: limitKeyOf(name), storage, network, now, log: config.log, isThere: () => isLimitKey(own), open })
}

function openLimitSettings({ storage, network, now, config }: ObjectEnvironment): LimitSettingsObject {
  const registry = new WorkflowRegistry(config.workflows, defaultLimits)
  const declared = (name: string) => declaredLimits(registry).find(({ workflow }) => workflow === name)?.limits ?? []
  return new LimitSettingsObject(new SqliteLimitSettings(new ObjectSqlDriver(storage)), declared, storage, network, now, config.log)
}

const later = (run: () => void, ms: number): (() => void) => {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}
