import type { SqlDriver } from "../../ports/sql-driver.ts"
import type { TurnObserver } from "../../ports/cloudflare/turn-observer.ts"
import { ClaimTable } from "./tables/claim-table.ts"
import type { DueSearch } from "./tables/due-table.ts"
import { InboxTable } from "./tables/inbox-table.ts"
import { JournalTable } from "./tables/journal-table.ts"
import type { OfferTable } from "./tables/offer-table.ts"
import type { SqliteFlowTransaction } from "./tables/flow-transaction.ts"
import { TurnTable } from "./tables/turn-table.ts"
import type { TurnTasks } from "./tables/turn-tasks.ts"
import type { TaskTable } from "./tables/task-table.ts"
import type { TurnFlow } from "./tables/turn-flow-port.ts"
import type { TurnBatch } from "./tables/turn-batch.ts"

/** All prepared statements of one connection, shared by the implementations of the ports. */
export interface SqliteTables {
  readonly driver: SqlDriver
  readonly now: () => number
  readonly claims: ClaimTable
  readonly journal: JournalTable
  readonly inbox: InboxTable
  readonly turns: TurnTable
  readonly flow: TurnFlow
  /** Only in files, which several workers may open. */
  readonly offers?: OfferTable
  /** Undefined: the database has no task queues. */
  readonly tasks?: TurnTasks | undefined
}

/** The tables of a database that holds the limits and unique keys of all instances itself. */
export interface FlowTables extends SqliteTables {
  readonly flow: SqliteFlowTransaction
}

/** The tables of a database with task queues. */
export interface TaskQueueTables extends SqliteTables {
  readonly tasks: TaskTable
}

export interface SqliteTableOptions {
  /** Only in files, where one transaction writes turns of many instances. */
  readonly batch?: TurnBatch
  readonly flow: TurnFlow
  readonly due: DueSearch
  readonly tasks?: TurnTasks | undefined
  /** Only in objects: passes messages for other instances on, and notes turns for the index. */
  readonly observer?: TurnObserver | undefined
}

export function sqliteTables(driver: SqlDriver, now: () => number, { batch, flow, due, tasks, observer }: SqliteTableOptions): SqliteTables {
  const common = { driver, now, journal: new JournalTable(driver), inbox: new InboxTable(driver), flow, tasks }
  return { ...common, claims: new ClaimTable(driver, due), turns: new TurnTable({ ...common, observer, batch }) }
}
