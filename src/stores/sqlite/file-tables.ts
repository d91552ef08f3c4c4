import type { SqlDriver } from "../../ports/sql-driver.ts"
import { DueTable } from "./due-table.ts"
import { OfferTable } from "./offer-table.ts"
import { SqliteFlow } from "./sqlite-flow.ts"
import { type FlowTables, sqliteTables } from "./sqlite-tables.ts"
import { TurnGroup } from "./turn-group.ts"

/** The tables of a file, which may hold any number of instances. */
export function fileTables(driver: SqlDriver, now: () => number): FlowTables {
  const flow = new SqliteFlow(driver, now)
  return { ...sqliteTables(driver, now, { group: new TurnGroup(driver), flow, due: new DueTable(driver) }), flow, offers: new OfferTable(driver) }
}
