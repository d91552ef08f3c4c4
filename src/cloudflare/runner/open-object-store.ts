import type { Store, StoreContext } from "../../ports/store.ts"
import { type ObjectStoreOptions, ObjectStore } from "../store/object-store.ts"
import { ObjectDatabase } from "../../stores/sqlite/object/object-database.ts"
import { InstanceTable } from "../../stores/sqlite/tables/instance-table.ts"
import type { SqliteTables } from "../../stores/sqlite/sqlite-components.ts"
import { NoFlow } from "../../stores/sqlite/tables/turn-flow-port.ts"
import type { ObjectEnvironment } from "./object-environment.ts"
import type { InstanceFlow } from "./runner-feature.ts"

type More = Pick<ObjectStoreOptions, "transactions" | "changes" | "schedules">

/** The store of the engine in an object: its own database, the way to others, and what the parts of the runner bring. */
export function openObjectStore(
  { network, tables: own, openDriver }: ObjectEnvironment,
  context: StoreContext,
  flow: InstanceFlow | undefined,
  edge: Pick<ObjectStoreOptions, "own" | "onWriting" | "onWritten">,
  more: (tables: SqliteTables) => More,
): Store {
  const driver = openDriver()
  const opened = flow?.open(driver)
  const database = new ObjectDatabase(driver, context, opened?.flow ?? new NoFlow(driver), own.turnObserver)
  const { tables } = database
  const control = opened && { flow: opened.control(tables, edge) }
  const directory = new InstanceTable(tables)
  const keyed = flow?.keyed(directory, edge.onWritten)
  return new ObjectStore({ ...edge, ...more(tables), ...control, database, directory, network, keys: flow?.keys, keyed, isThere: () => own.isThere() })
}
