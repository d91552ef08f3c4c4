import type { JournalRow } from "../../../ports/journal-store.ts"
import { fromText } from "../../shared/unsafe-text.ts"
import { integer, list, text } from "./columns.ts"
import type { PgRow } from "../connection/database.ts"

export const journalColumns = "j.turn, j.position, j.count, j.run, j.at, j.entries, j.blobs"

export function toJournalRow(row: PgRow): JournalRow {
  const blobs = list<string>(row, "blobs")
  return {
    turn: text(row, "turn"),
    position: integer(row, "position"),
    count: integer(row, "count"),
    run: integer(row, "run"),
    at: integer(row, "at"),
    entries: text(row, "entries"),
    ...(blobs.length === 0 ? {} : { blobs: blobs.map(fromText) }),
  }
}
