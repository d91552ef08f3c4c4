import type { SqlDriver } from "../../ports/sql-driver.ts"
import { DueTable } from "./tables/due-table.ts"
import { OfferTable } from "./tables/offer-table.ts"
import { SqliteFlowTransaction } from "./tables/flow-transaction.ts"
import { type FlowTables, sqliteTables, type TaskQueueTables } from "./sqlite-components.ts"
import { TaskTable } from "./tables/task-table.ts"
import { TurnBatch } from "./tables/turn-batch.ts"

/** The tables of a file. */
export function fileTables(driver: SqlDriver, now: () => number): FlowTables & TaskQueueTables {
  const flow = new SqliteFlowTransaction(driver, now)
  const tasks = new TaskTable(driver)
  const tables = sqliteTables(driver, now, { batch: new TurnBatch(driver), flow, due: new DueTable(driver), tasks })
  return { ...tables, flow, tasks, offers: new OfferTable(driver) }
}
