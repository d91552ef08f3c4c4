import type { Store, StoreContext } from "../../ports/store.ts"
import { type EdgeParts, EdgeStore } from "../store/object-store.ts"
import { ObjectDatabase } from "../../stores/sqlite/object/object-database.ts"
import { SqliteInstances } from "../../stores/sqlite/tables/instance-table.ts"
import type { SqliteTables } from "../../stores/sqlite/sqlite-components.ts"
import { NoFlow } from "../../stores/sqlite/tables/turn-flow-port.ts"
import type { ObjectSite } from "./object-environment.ts"
import type { InstanceFlow } from "./runner-feature.ts"

type More = Pick<EdgeParts, "transactions" | "changes" | "schedules">

/** The store of the engine in an object: its own database, the way to others, and what the parts of the runner bring. */
export function openOwnStore(
  { network, tables: own, openDriver }: ObjectSite,
  context: StoreContext,
  flow: InstanceFlow | undefined,
  edge: Pick<EdgeParts, "own" | "onWriting" | "onWritten">,
  more: (tables: SqliteTables) => More,
): Store {
  const driver = openDriver()
  const opened = flow?.open(driver)
  const database = new ObjectDatabase(driver, context, opened?.flow ?? new NoFlow(driver), own.outlet)
  const { tables } = database
  const control = opened && { flow: opened.control(tables, edge) }
  const directory = new SqliteInstances(tables)
  const keyed = flow?.keyed(directory, edge.onWritten)
  return new EdgeStore({ ...edge, ...more(tables), ...control, database, directory, network, keys: flow?.keys, keyed, isThere: () => own.isThere() })
}
