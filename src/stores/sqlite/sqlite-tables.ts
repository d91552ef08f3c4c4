import type { IsPermitted } from "../../ports/object-permits.ts"
import type { SqlDriver } from "../../ports/sql-driver.ts"
import type { TurnOutlet } from "../../ports/turn-outlet.ts"
import { ClaimTable } from "./claim-table.ts"
import { InboxTable } from "./inbox-table.ts"
import { JournalTable } from "./journal-table.ts"
import { SqliteFlow } from "./sqlite-flow.ts"
import { SqliteTurns } from "./sqlite-turns.ts"

/** All prepared statements over one connection, shared by journal store and directory. */
export interface SqliteTables {
  readonly driver: SqlDriver
  readonly now: () => number
  readonly claims: ClaimTable
  readonly journal: JournalTable
  readonly inbox: InboxTable
  readonly turns: SqliteTurns
  readonly flow: SqliteFlow
}

/** `outlet`: other instances are not in this database. `isPermitted`: nor are slots. */
export function sqliteTables(driver: SqlDriver, now: () => number, outlet?: TurnOutlet, isPermitted?: IsPermitted): SqliteTables {
  const journal = new JournalTable(driver)
  const inbox = new InboxTable(driver)
  const flow = new SqliteFlow(driver, now, isPermitted)
  return { driver, now, claims: new ClaimTable(driver), journal, inbox, flow, turns: new SqliteTurns(driver, journal, inbox, flow, now, outlet) }
}
