import type { Store, StoreProvider } from "../../src/ports/store.ts"
import type { SqlRow } from "../../src/ports/sql-driver.ts"
import { checkObjectStatement } from "../../src/stores/sqlite/driver/statement-rules.ts"
import { ObjectDatabase } from "../../src/stores/sqlite/object/object-database.ts"
import { objectTableDefinitions } from "../../src/stores/sqlite/object/object-instance-tables.ts"
import { objectMigrations } from "../../src/stores/sqlite/object/object-schema.ts"
import { ObjectSqlDriver } from "../../src/stores/sqlite/object/object-sql-driver.ts"
import type { ObjectStorage } from "../../src/stores/sqlite/object/object-storage.ts"
import { SmallDueTable } from "../../src/stores/sqlite/object/small-due-table.ts"
import { migrate } from "../../src/stores/sqlite/schema/migrate.ts"
import { migrations } from "../../src/stores/sqlite/schema/schema.ts"
import { taskTables } from "../../src/stores/sqlite/schema/table-statements.ts"
import { sqliteTables } from "../../src/stores/sqlite/sqlite-components.ts"
import { SqliteDirectory } from "../../src/stores/sqlite/sqlite-directory.ts"
import { SqliteFlowControl } from "../../src/stores/sqlite/sqlite-flow-control.ts"
import { SqliteJournalStore } from "../../src/stores/sqlite/sqlite-journal-store.ts"
import { SqliteScheduleStore } from "../../src/stores/sqlite/sqlite-schedule-store.ts"
import { SqliteTaskStore } from "../../src/stores/sqlite/sqlite-task-store.ts"
import { SqliteTransactions } from "../../src/stores/sqlite/sqlite-transactions.ts"
import { rowsInClaimOrder } from "../../src/stores/sqlite/tables/due-table.ts"
import { SqliteFlowTransaction } from "../../src/stores/sqlite/tables/flow-transaction.ts"
import { OfferTable } from "../../src/stores/sqlite/tables/offer-table.ts"
import { TaskTable } from "../../src/stores/sqlite/tables/task-table.ts"

/** A store with any number of instances in the database of one Durable Object: the suites for stores test an object's SQLite with it. */
export function multiInstanceStore(storage: ObjectStorage): StoreProvider {
  return {
    name: "object",
    open: async (context) => {
      const driver = new ObjectSqlDriver(storage, tableDefinitions)
      migrate(driver, objectMigrations)
      driver.exec(queueIndex)
      const flow = new SqliteFlowTransaction(driver, context.now)
      const tasks = new TaskTable(driver)
      const tables = { ...sqliteTables(driver, context.now, { flow, due: new OrderedDueTable(driver), tasks }), flow, tasks, offers: new OfferTable(driver) }
      const stores: Pick<Store, "journal" | "directory" | "schedules" | "transactions" | "flow" | "tasks"> = {
        journal: new SqliteJournalStore(tables),
        directory: new SqliteDirectory(tables),
        schedules: new SqliteScheduleStore(tables),
        transactions: new SqliteTransactions(tables, checkObjectStatement),
        flow: new SqliteFlowControl(tables),
        tasks: new SqliteTaskStore(tables),
      }
      return Object.assign(new ObjectDatabase(driver, context, tables), stores)
    },
  }
}

/** The database of one instance has no task queues. */
function tableDefinitions(name: string): readonly string[] {
  const ofTasks: Readonly<Record<string, readonly string[]>> = taskTables
  return ofTasks[name] ?? objectTableDefinitions(name)
}

/** The one index that a query of the directory names. */
const queueIndex = migrations
  .flatMap(({ statements }) => statements)
  .filter((statement) => statement.startsWith("CREATE INDEX perdure_instance_queue "))
  .join(";")
  .replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS")

class OrderedDueTable extends SmallDueTable {
  override inOrder(rows: readonly SqlRow[], startsMin: number): readonly SqlRow[] {
    return rowsInClaimOrder(rows, startsMin)
  }
}
