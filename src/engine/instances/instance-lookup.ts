import { PerdureError } from "../../core/errors.ts"
import type { Entry, EntryOf } from "../../core/journal/journal.ts"
import { isTerminal } from "../../core/journal/status.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { Directory } from "../../ports/directory.ts"
import type { InstanceRow, JournalRow } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { notFound } from "./instance-errors.ts"

/** The row of an instance. Throws `NOT_FOUND` if the store has none. */
export async function existingRow({ directory }: { readonly directory: Pick<Directory, "get"> }, id: string): Promise<InstanceRow> {
  const row = await directory.get(id)
  if (!row) throw notFound(id)
  return row
}

/** The entry that ended the instance; undefined while the instance has not ended. */
export async function readEndingEntry(store: Store, id: string): Promise<Entry | undefined> {
  const { directory } = store
  const statusWithEnding = await directory.statusWithEnding?.(id)
  if (statusWithEnding) return statusWithEnding.end && endingIn(id, statusWithEnding.end.rows, statusWithEnding.end.position)
  const row = await directory.get(id)
  if (row === undefined) throw notFound(id)
  return isTerminal(row.status) ? readEnding(store, row) : undefined
}

/** The entry with which the instance stalled; undefined if the instance is not stalled, or if a resume is in its inbox. */
export async function readStallEntry({ directory, journal }: Store, id: string): Promise<EntryOf<"stalled"> | undefined> {
  if ((await directory.get(id))?.status !== "stalled") return undefined
  const isResumed = (await journal.readInbox([id])).some(({ kind }) => kind === "resume")
  // The row is read again after the inbox: it shows a resume that the instance has consumed in between.
  const row = await directory.get(id)
  if (isResumed || row?.status !== "stalled") return undefined
  const entries = (await journal.readJournal(id, row.runPosition)).flatMap((item) => decodeRow(item).map(({ entry }) => entry))
  return entries.findLast((entry) => entry.type === "stalled")
}

/** The entry that ended the last run of an ended instance. */
export async function readEnding(store: Store, row: InstanceRow): Promise<Entry> {
  const position = row.endPosition ?? row.runPosition
  return endingIn(row.id, await store.journal.readJournal(row.id, position), position)
}

function endingIn(id: string, rows: readonly JournalRow[], position: number): Entry {
  const ending = rows.flatMap((item) => decodeRow(item)).find((item) => item.position === position)
  if (ending === undefined) throw new PerdureError("STORE_FAILED", `instance "${id}" lacks its ending at position ${position}`, { details: { instance: id } })
  return ending.entry
}
