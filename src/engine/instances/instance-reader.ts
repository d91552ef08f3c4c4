import { bufferedEvents } from "../../core/journal/event-type-queue.ts"
import { Payload } from "../../core/values/value-codec.ts"
import { shownEnding } from "../../core/journal/ending-error.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Recorded } from "../../core/journal/journal.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { runOf } from "../../core/journal/run-history.ts"
import { isTerminal } from "../../core/journal/status.ts"
import { stepsOf, type StepInfo } from "../../core/journal/step-info.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { HistoryEntry, HistoryOptions, HistoryPage, InstanceDescription } from "../../client-api/client-api.ts"
import { existingRow } from "./instance-lookup.ts"
import { pageLimit, summary } from "./instance-summary.ts"
import { loadRun } from "../runner/run-loader.ts"

/** Reads instances from what is committed. */
export class InstanceReader {
  readonly #store: Store
  readonly #codecs: PayloadCodecs | undefined

  constructor(store: Store, codecs?: PayloadCodecs) {
    this.#store = store
    this.#codecs = codecs
  }

  row(id: string): Promise<InstanceRow> {
    return existingRow(this.#store, id)
  }

  async describe(id: string): Promise<InstanceDescription> {
    const row = await this.row(id)
    const { recorded } = await loadRun(this.#store.journal, row)
    const start = recorded[0]?.entry
    const ending = isTerminal(row.status) ? recorded.find(({ position }) => position === row.endPosition)?.entry : undefined
    const stall = row.status === "stalled" ? recorded.findLast(({ entry }) => entry.type === "stalled")?.entry : undefined
    const buffered = bufferedEvents(recorded)
    const failure = stall ?? (ending?.type === "run.completed" ? undefined : ending)
    return {
      ...summary(row, this.#codecs),
      incarnation: row.incarnation,
      attempt: 1 + recorded.filter(({ entry }) => entry.type === "recovered").length,
      updatedAt: Math.max(row.updatedAt, recorded.at(-1)?.at ?? 0),
      input: start?.type === "run.started" ? start.value.shown() : undefined,
      ...(ending?.type === "run.completed" ? { result: ending.value.shown() } : undefined),
      ...(failure ? { error: shownEnding(id, failure) } : undefined),
      ...(start?.type === "run.started" && start.parent ? { parentId: start.parent.instance } : undefined),
      ...(start?.type === "run.started" && start.schedule ? { schedule: start.schedule } : undefined),
      ...(start?.type === "run.started" && start.retention ? { retention: start.retention } : undefined),
      ...(ending && "notRolledBack" in ending && ending.notRolledBack ? { notRolledBack: ending.notRolledBack } : undefined),
      ...(buffered.length === 0 ? undefined : { bufferedEvents: buffered }),
      steps: stepsOf(recorded),
    }
  }

  async steps(id: string): Promise<readonly StepInfo[]> {
    return stepsOf((await loadRun(this.#store.journal, await this.row(id))).recorded)
  }

  async history(id: string, options: HistoryOptions): Promise<HistoryPage> {
    await this.row(id)
    const after = options.cursor === undefined ? 0 : Number(options.cursor)
    if (!Number.isSafeInteger(after) || after < 0)
      throw new PerdureError("BAD_OPTION", `cursor "${options.cursor}" is not a cursor of history; pass the cursor of the previous page`)
    const limit = pageLimit(options.limit)
    const isForward = options.order !== "newest"
    const rows = await this.#store.journal.readJournal(id, options.run === undefined && isForward ? after + 1 : 1)
    const all = rows.flatMap((row) => decodeRow(row))
    // The entries of a run may not be in order of position: its own start comes first, then entries that it keeps of earlier runs.
    const run = options.run === undefined ? all.filter(({ position }) => !isForward || position > after) : runOf(all, options.run)
    const ordered = isForward ? run : run.toReversed()
    const wanted = ordered.slice(ordered.findIndex(({ position }) => position === after) + 1)
    const entries = wanted.slice(0, limit)
    const last = entries.at(-1)
    return { entries: entries.map(historyEntry), ...(wanted.length > limit && last ? { cursor: String(last.position) } : undefined) }
  }
}

function historyEntry({ position, run, at, entry }: Recorded): HistoryEntry {
  const { type, ...fields } = entry
  // It is encoded, and may be sensitive.
  if ("details" in fields) delete fields.details
  const data: Record<string, unknown> = { ...fields }
  for (const [key, value] of Object.entries(fields)) if (value instanceof Payload) data[key] = value.shown()
  return { position, run, at, type, data }
}
