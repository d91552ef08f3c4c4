import type { SqlDriver } from "../../ports/sql-driver.ts"
import { ClaimTable } from "./claim-table.ts"
import { InboxTable } from "./inbox-table.ts"
import { JournalTable } from "./journal-table.ts"
import { TurnWriter } from "./turn-writer.ts"

/** All prepared statements over one connection, shared by journal store and directory. */
export interface SqliteTables {
  readonly driver: SqlDriver
  readonly now: () => number
  readonly claims: ClaimTable
  readonly journal: JournalTable
  readonly inbox: InboxTable
  readonly turns: TurnWriter
}

export function sqliteTables(driver: SqlDriver, now: () => number): SqliteTables {
  const journal = new JournalTable(driver)
  const inbox = new InboxTable(driver)
  return { driver, now, claims: new ClaimTable(driver), journal, inbox, turns: new TurnWriter(driver, journal, inbox, now) }
}
