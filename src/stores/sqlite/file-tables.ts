import type { SqlDriver } from "../../ports/sql-driver.ts"
import { DueTable } from "./due-table.ts"
import { GroupedInstanceStates } from "./grouped-instance-states.ts"
import { GroupedJournalTable } from "./grouped-journal-table.ts"
import { SqliteFlow } from "./sqlite-flow.ts"
import { type FlowTables, sqliteTables } from "./sqlite-tables.ts"

/** The tables of a file, which may hold any number of instances. */
export function fileTables(driver: SqlDriver, now: () => number): FlowTables {
  const flow = new SqliteFlow(driver, now)
  const [journal, states] = [new GroupedJournalTable(driver), new GroupedInstanceStates(driver)]
  return { ...sqliteTables(driver, now, { journal, states, flow, due: new DueTable(driver) }), flow }
}
