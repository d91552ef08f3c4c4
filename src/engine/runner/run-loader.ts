import { PerdureError } from "../../core/errors.ts"
import type { EntryOf, Recorded } from "../../core/journal/journal.ts"
import { firstPosition, lastRun } from "../../core/journal/run-history.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { InstanceRow, JournalStore, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { missingTasks } from "../tasks/missing-tasks.ts"
import { keptChildResults } from "../children/kept-child-results.ts"

export interface LoadedRun {
  readonly recorded: readonly Recorded[]
  /** The id of the turn that the journal ends with: the next turn names it. */
  readonly lastTurn: string
  readonly textLength: number
}

/** Reads the entries of an instance's last run, with the entries that it keeps of earlier runs. */
export async function loadRun(journal: Pick<JournalStore, "readJournal">, row: InstanceRow): Promise<LoadedRun> {
  let rows = await journal.readJournal(row.id, row.runPosition)
  let recorded = rows.flatMap((item) => decodeRow(item))
  const start = recorded.find(({ position }) => position === row.runPosition)
  if (start?.entry.type !== "run.started") {
    throw new PerdureError("STORE_FAILED", `the journal of instance "${row.id}" has no run.started at position ${row.runPosition}`, {
      details: { instance: row.id },
    })
  }
  const from = firstPosition(start as Recorded<EntryOf<"run.started">>)
  if (from < row.runPosition) {
    rows = await journal.readJournal(row.id, from)
    recorded = rows.flatMap((item) => decodeRow(item))
  }
  return { recorded: lastRun(recorded), lastTurn: rows.at(-1)?.turn ?? "", textLength: rows.reduce((sum, { entries }) => sum + entries.length, 0) }
}

/** What `InstanceRunner.load` needs. */
export interface LoadedInstance extends LoadedRun {
  /** The results of children that the run keeps from an earlier run. */
  readonly childResults: readonly NewMessage[]
  /** The open steps whose tasks neither exist nor have ended. */
  readonly missingTasks: ReadonlySet<string>
}

export async function loadInstance(store: Store, row: InstanceRow): Promise<LoadedInstance> {
  const loaded = await loadRun(store.journal, row)
  const childResults = await keptChildResults(store, row, loaded)
  return { ...loaded, childResults, missingTasks: await missingTasks(store, row, loaded.recorded) }
}
