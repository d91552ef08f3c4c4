import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { StatusWithEnding } from "../../../ports/directory.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "./columns.ts"
import type { Database, PgRow } from "../connection/database.ts"
import { BatchLoader } from "./batch-loader.ts"
import { journalColumns, toJournalRow } from "./journal-row.ts"

/** So many are read by one statement. */
const standingsMax = 100

/** How instances stand, by their ids. */
export function standingReader(database: Database): BatchLoader<string, StatusWithEnding | undefined> {
  return new BatchLoader(standingsMax, async (ids) => {
    const rows = await database.all(
      "standings",
      `SELECT j.n, j.status, j.end_position, ${journalColumns} FROM ${database.functions.readStatuses}($1) j`,
      ids.map(toText),
    )
    const standings: (StatusWithEnding | undefined)[] = ids.map(() => undefined)
    for (const row of rows) standings[integer(row, "n") - 1] = toStanding(row)
    return standings
  })
}

function toStanding(row: PgRow): StatusWithEnding {
  const status = text(row, "status") as Status
  if (!isTerminal(status)) return { status }
  return { status, end: { position: integer(row, "end_position"), rows: row["position"] === null ? [] : [toJournalRow(row)] } }
}
