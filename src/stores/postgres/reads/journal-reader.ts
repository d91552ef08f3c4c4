import type { JournalRow } from "../../../ports/journal-store.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer } from "./columns.ts"
import type { Database } from "../connection/database.ts"
import { BatchLoader } from "./batch-loader.ts"
import { journalColumns, toJournalRow } from "./journal-row.ts"
import { readJournal } from "../turns/instance-queries.ts"

/** One statement reads at most this many journals. Most instances that are claimed together have few rows. */
const journalsMax = 50

/** The journal of an instance, from a position on. */
interface WantedJournal {
  readonly id: string
  readonly from: number
}

export function journalReader(database: Database): BatchLoader<WantedJournal, readonly JournalRow[]> {
  return new BatchLoader(journalsMax, async (wanted) => {
    const [only] = wanted
    if (wanted.length === 1 && only) return [await readJournal(database, database, only.id, only.from)]
    return readJournals(database, wanted)
  })
}

async function readJournals(database: Database, wanted: readonly WantedJournal[]): Promise<readonly (readonly JournalRow[])[]> {
  const rows = await database.all(
    "journals",
    `SELECT j.n, ${journalColumns} FROM ${database.functions.readJournals}($1, $2) j`,
    wanted.map(({ id }) => toText(id)),
    wanted.map(({ from }) => from),
  )
  const journals: JournalRow[][] = wanted.map(() => [])
  for (const row of rows) {
    const at = integer(row, "n") - 1
    // The first row may end before the wanted position.
    if (integer(row, "position") + integer(row, "count") > (wanted[at]?.from ?? 0)) journals[at]?.push(toJournalRow(row))
  }
  return journals
}
