import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { StatusWithEnding } from "../../../ports/directory.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, text } from "./columns.ts"
import type { Database, PgRow } from "../connection/database.ts"
import { BatchLoader } from "./batch-loader.ts"
import { journalColumns, toJournalRow } from "./journal-row.ts"

/** One statement reads at most this many statuses. */
const statusesMax = 100

/** Reads the statuses of instances, with the ends of those that have ended. */
export function statusReader(database: Database): BatchLoader<string, StatusWithEnding | undefined> {
  return new BatchLoader(statusesMax, async (ids) => {
    const rows = await database.all(
      "statuses",
      `SELECT j.n, j.status, j.end_position, ${journalColumns} FROM ${database.functions.readStatuses}($1) j`,
      ids.map(toText),
    )
    const statuses: (StatusWithEnding | undefined)[] = ids.map(() => undefined)
    for (const row of rows) statuses[integer(row, "n") - 1] = toStatus(row)
    return statuses
  })
}

function toStatus(row: PgRow): StatusWithEnding {
  const status = text(row, "status") as Status
  if (!isTerminal(status)) return { status }
  return { status, end: { position: integer(row, "end_position"), rows: row["position"] === null ? [] : [toJournalRow(row)] } }
}
