import type { Store, StoreContext } from "../../ports/store.ts"
import { checkObjectStatement } from "../../stores/sqlite/driver/statement-rules.ts"
import { ObjectDatabase, objectTables } from "../../stores/sqlite/object/object-database.ts"
import type { SqliteTables } from "../../stores/sqlite/sqlite-components.ts"
import { SqliteTransactions } from "../../stores/sqlite/sqlite-transactions.ts"
import { toChangeCursor } from "../../stores/shared/change-cursor.ts"
import { ChangeTable } from "../../stores/sqlite/tables/change-table.ts"
import { InstanceTable } from "../../stores/sqlite/tables/instance-table.ts"
import { type ObjectStoreOptions, ObjectStore } from "../store/object-store.ts"
import type { ObjectEnvironment } from "./object-environment.ts"
import type { ObjectFlow } from "./object-flow.ts"

/** The store of the engine in an object: its own database for its own instance, RPC for all other instances. */
export function openObjectStore(
  { network, tables: own, openDriver }: ObjectEnvironment,
  context: StoreContext,
  flow: ObjectFlow,
  hooks: Pick<ObjectStoreOptions, "own" | "onWriting" | "onWritten">,
  scheduling?: (tables: SqliteTables) => Pick<ObjectStoreOptions, "schedules">,
): Store {
  const driver = openDriver()
  const opened = flow.open(driver)
  const tables = objectTables(driver, context.now, opened.inTurns, own.turnObserver)
  const database = new ObjectDatabase(driver, context, tables)
  const directory = new InstanceTable(tables)
  return new ObjectStore({
    ...hooks,
    ...scheduling?.(tables),
    transactions: new SqliteTransactions(tables, checkObjectStatement),
    changes: ownChanges(tables),
    flow: opened.control(tables, hooks),
    database,
    directory,
    network,
    keys: flow.keys,
    uniqueKeyCommits: flow.uniqueKeyCommits(directory, hooks.onWritten),
    isThere: () => own.isThere(),
  })
}

/** The changes of the object's own instance. */
function ownChanges({ driver, journal }: SqliteTables): NonNullable<ObjectStoreOptions["changes"]> {
  const table = new ChangeTable(driver, journal)
  return {
    changes: async (after, limit, instance) => table.read(after, limit, instance),
    latestChange: async () => toChangeCursor(table.latest()),
  }
}
