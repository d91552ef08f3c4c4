import type { SqlDriver } from "../../ports/sql-driver.ts"
import { DueTable } from "./tables/due-table.ts"
import { OfferTable } from "./tables/offer-table.ts"
import { SqliteFlowTransaction } from "./tables/flow-transaction.ts"
import { type FlowTables, sqliteTables } from "./sqlite-components.ts"
import { TurnBatch } from "./tables/turn-batch.ts"

/** The tables of a file. */
export function fileTables(driver: SqlDriver, now: () => number): FlowTables {
  const flow = new SqliteFlowTransaction(driver, now)
  return { ...sqliteTables(driver, now, { batch: new TurnBatch(driver), flow, due: new DueTable(driver) }), flow, offers: new OfferTable(driver) }
}
