import type { SqlDriver } from "../../ports/sql-driver.ts"
import type { TurnOutlet } from "../../ports/turn-outlet.ts"
import { ClaimTable } from "./claim-table.ts"
import type { DueSearch } from "./due-table.ts"
import { InboxTable } from "./inbox-table.ts"
import { JournalTable } from "./journal-table.ts"
import type { OfferTable } from "./offer-table.ts"
import type { SqliteFlow } from "./sqlite-flow.ts"
import { SqliteTurns } from "./sqlite-turns.ts"
import type { TurnFlow } from "./turn-flow.ts"
import type { TurnGroup } from "./turn-group.ts"

/** All prepared statements over one connection, shared by journal store and directory. */
export interface SqliteTables {
  readonly driver: SqlDriver
  readonly now: () => number
  readonly claims: ClaimTable
  readonly journal: JournalTable
  readonly inbox: InboxTable
  readonly turns: SqliteTurns
  readonly flow: TurnFlow
  /** Where workers share the database. */
  readonly offers?: OfferTable
}

/** With limits and keys. */
export interface FlowTables extends SqliteTables {
  readonly flow: SqliteFlow
}

export interface TableParts {
  /** Where many instances write together. */
  readonly group?: TurnGroup
  readonly flow: TurnFlow
  readonly due: DueSearch
  /** Other instances are not in this database. */
  readonly outlet?: TurnOutlet | undefined
}

export function sqliteTables(driver: SqlDriver, now: () => number, { group, flow, due, outlet }: TableParts): SqliteTables {
  const common = { driver, now, journal: new JournalTable(driver), inbox: new InboxTable(driver), flow }
  return { ...common, claims: new ClaimTable(driver, due), turns: new SqliteTurns({ ...common, outlet, group }) }
}
