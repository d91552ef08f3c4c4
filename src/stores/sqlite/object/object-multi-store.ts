import type { Store, StoreProvider } from "../../../ports/store.ts"
import { rowsInClaimOrder } from "../tables/due-table.ts"
import { ObjectDatabase } from "./object-database.ts"
import { ObjectSqlDriver } from "./object-sql-driver.ts"
import type { ObjectStorage } from "./object-storage.ts"
import { OfferTable } from "../tables/offer-table.ts"
import { SqliteDirectory } from "../sqlite-directory.ts"
import { SqliteFlowTransaction } from "../tables/flow-transaction.ts"
import { SqliteFlowControl } from "../sqlite-flow-control.ts"
import { SqliteJournalStore } from "../sqlite-journal-store.ts"
import { SqliteScheduleStore } from "../sqlite-schedule-store.ts"
import { SqliteTransactions } from "../sqlite-transactions.ts"
import { checkObjectStatement } from "../driver/statement-rules.ts"
import { objectParts } from "./object-multi-schema.ts"

/** A whole store in the database of one Durable Object, with any number of instances. */
export function objectStore(storage: ObjectStorage): StoreProvider {
  return {
    name: "object",
    open: async (context) => {
      const driver = new ObjectSqlDriver(storage, objectParts)
      const flow = new SqliteFlowTransaction(driver, context.now)
      const database = new ObjectDatabase(driver, context, flow, undefined, rowsInClaimOrder)
      const tables = { ...database.tables, flow, offers: new OfferTable(driver) }
      const parts: Pick<Store, "journal" | "directory" | "schedules" | "transactions" | "flow"> = {
        journal: new SqliteJournalStore(tables),
        directory: new SqliteDirectory(tables),
        schedules: new SqliteScheduleStore(tables),
        transactions: new SqliteTransactions(tables, checkObjectStatement),
        flow: new SqliteFlowControl(tables),
      }
      return Object.assign(database, parts)
    },
  }
}
