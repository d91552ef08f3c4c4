import type { ObjectSchedule } from "../../ports/cloudflare/object-schedule.ts"
import type { Store, StoreContext } from "../../ports/store.ts"
import { checkObjectStatement } from "../../stores/sqlite/driver/statement-rules.ts"
import { ObjectDatabase, objectTables } from "../../stores/sqlite/object/object-database.ts"
import type { SqliteTables } from "../../stores/sqlite/sqlite-components.ts"
import { SqliteScheduleStore } from "../../stores/sqlite/sqlite-schedule-store.ts"
import { SqliteTransactions } from "../../stores/sqlite/sqlite-transactions.ts"
import { SentTaskTable } from "../../stores/sqlite/object/tasks/sent-task-table.ts"
import { toChangeCursor } from "../../stores/shared/change-cursor.ts"
import { ChangeTable } from "../../stores/sqlite/tables/change-table.ts"
import { InstanceTable } from "../../stores/sqlite/tables/instance-table.ts"
import type { StoreHooks } from "../objects/instance-object.ts"
import { ObjectSentTasks } from "../store/object-sent-tasks.ts"
import { taskQueueName } from "../store/object-name.ts"
import { ObjectScheduleStore } from "../store/object-schedule-store.ts"
import { type ObjectStoreOptions, ObjectStore } from "../store/object-store.ts"
import type { ObjectEnvironment } from "./object-environment.ts"
import type { ObjectFlow } from "./object-flow.ts"

/** Opens the store of the engine in an object: the object's database for its own instance, RPC for all other instances. `schedule`: of a schedule's object. */
export function openObjectStore(
  { network, tables: instanceTables, openDriver, now }: ObjectEnvironment,
  context: StoreContext,
  flow: ObjectFlow,
  hooks: StoreHooks,
  schedule?: ObjectSchedule,
): Store {
  const driver = openDriver()
  const flowTransaction = flow.openTransaction(driver)
  const observer = instanceTables.turnObserver
  const tasks = new SentTaskTable(driver, { nameOf: taskQueueName, send: (order) => observer.onMessage(order) })
  const tables = objectTables(driver, context.now, flowTransaction, observer, tasks)
  const database = new ObjectDatabase(driver, context, tables)
  const { afterWrite } = hooks
  const options: ObjectStoreOptions = {
    ...hooks,
    transactions: new SqliteTransactions(tables, checkObjectStatement),
    changes: ownChanges(tables),
    flow: flow.openControl(tables, flowTransaction, hooks),
    database,
    directory: new InstanceTable(tables),
    network,
    keys: flow.requester,
    sentTasks: new ObjectSentTasks({ rows: tasks, outbox: instanceTables, network }),
    isThere: () => instanceTables.isThere(),
  }
  if (schedule === undefined) return new ObjectStore(options)
  // An ordered instance counts as present before it has started. Otherwise the schedule would decide on it a second time.
  const get = async (id: string) => schedule.ordered(id) ?? network.peer(id).get()
  const schedules = new ObjectScheduleStore({ local: new SqliteScheduleStore(tables), tables: schedule, get, now, afterWrite })
  return new ObjectStore({ ...options, scheduling: { schedules, get } })
}

/** The changes of the object's own instance. */
function ownChanges({ driver, journal }: SqliteTables): ObjectStoreOptions["changes"] {
  const table = new ChangeTable(driver, journal)
  return {
    changes: async (after, limit, instance) => table.read(after, limit, instance),
    latestChange: async () => toChangeCursor(table.latest()),
  }
}
