import { PerdureError } from "../../core/errors.ts"
import { messageOf } from "../../core/values/error-text.ts"
import { InstanceState as State } from "../../core/journal/instance-state.ts"
import type { Entry } from "../../core/journal/journal.ts"
import { checkId, defaultLimits } from "../../core/workflow/input-limits.ts"
import { originOf, lastRun } from "../../core/journal/run-history.ts"
import { isTerminal, type Status } from "../../core/journal/status.ts"
import { decodeRow, encodeEntries } from "../../core/journal/turn-codec.ts"
import { isUnwinding } from "../../core/journal/run-deadline.ts"
import type { Host } from "../../ports/host.ts"
import type { RowState, JournalRow, NewInstance, Turn } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { badExport, type InstanceExport, recordedIn } from "./instance-export.ts"
import { randomToken } from "../random-token.ts"

export interface ImportOptions {
  /** Imports a copy under another id. The copy has its own idempotency keys, and sends its result to no parent. */
  readonly id?: string
  /** The instance goes on at once. Default: an open instance is paused by the import. */
  readonly resume?: boolean
}

export interface Imported {
  readonly id: string
  readonly status: Status
}

/**
 * Writes an exported instance to a store, in one transaction. The instance keeps its id and its incarnation, so the original must not go on. That is why
 * an open instance is imported as paused.
 */
export async function importInstance(
  store: Store,
  host: Pick<Host, "now" | "randomBytes">,
  exported: InstanceExport,
  options: ImportOptions = {},
): Promise<Imported> {
  const given = options.id === undefined ? exported : copyOf(exported, options.id, randomToken(host as Host))
  const { instance, rows } = given
  checkId(instance.id, defaultLimits.idLengthMax)
  if (await store.directory.get(instance.id))
    throw new PerdureError("ID_EXISTS", `instance "${instance.id}" exists; delete it first, or import under another id`, { details: { instance: instance.id } })
  const fold = foldOf(given)
  const pausing = options.resume === true ? undefined : pauseRow(given, fold, host)
  const state = stateOf(given, pausing !== undefined, host.now())
  const turns = turnsOf(given, pausing ? [...rows, pausing] : rows, state)
  const outcomes = await store.journal.commit(turns)
  if (outcomes.includes("lost"))
    throw new PerdureError(
      "SINGLETON_EXISTS",
      `instance "${instance.id}" was not imported: another instance has its id, or one of its singleton or debounce keys`,
      {
        details: { instance: instance.id },
      },
    )
  return { id: instance.id, status: state.status }
}

function foldOf({ instance, state: { runPosition, endPosition }, rows }: InstanceExport): State {
  const recorded = rows.flatMap((row) => recordedIn(row))
  const state = new State()
  try {
    const run = lastRun(recorded)
    if (run.length === 0) throw badExport(`instance "${instance.id}" has no start in its journal`)
    for (const item of run) state.apply(item)
  } catch (error) {
    throw PerdureError.is(error, "BAD_EXPORT") ? error : badExport(`the journal of instance "${instance.id}" makes no sense: ${messageOf(error)}`)
  }
  const typeAt = (at: number) => recorded.find(({ position }) => position === at)?.entry.type
  if (typeAt(runPosition) !== "run.started") throw badExport(`instance "${instance.id}" has no start of a run at position ${runPosition}`)
  if (endPosition !== undefined && typeAt(endPosition) === undefined) throw badExport(`instance "${instance.id}" has nothing at position ${endPosition}`)
  return state
}

/** The row that pauses the instance; undefined if the instance does not run anyway. */
function pauseRow({ instance, state, rows }: InstanceExport, fold: State, host: Pick<Host, "now" | "randomBytes">): JournalRow | undefined {
  if (isTerminal(state.status) || state.status === "stalled" || fold.paused) return undefined
  if (fold.cancel || isUnwinding(fold))
    throw new PerdureError(
      "BAD_OPTION",
      `instance "${instance.id}" is being ${fold.cancel ? "cancelled" : "rolled back"}, so it cannot be paused; import it with resume, or export it when it has ended`,
      {
        details: { instance: instance.id },
      },
    )
  const last = rows.at(-1)
  if (last === undefined) throw badExport(`instance "${instance.id}" has no journal`)
  const entries: readonly Entry[] = [{ type: "paused", reason: "imported" }]
  const { text } = encodeEntries(entries)
  return {
    turn: `import.${randomToken(host as Host, 10)}`,
    position: last.position + last.count,
    count: 1,
    run: state.run,
    at: Math.max(host.now(), last.at),
    entries: text,
  }
}

function stateOf({ state }: InstanceExport, isPaused: boolean, now: number): RowState {
  const { status, run, runPosition, endPosition, phase, dueAt, deadlineAt } = state
  const common = { run, runPosition, ...(endPosition === undefined ? undefined : { endPosition }) }
  if (isTerminal(status) || status === "stalled" || status === "paused") return { ...common, status }
  if (isPaused) return { ...common, status: "paused" }
  const due = status === "running" ? { dueAt: Math.min(dueAt ?? now, now) } : dueAt === undefined ? undefined : { dueAt }
  return { ...common, status, ...(phase ? { phase } : undefined), ...due, ...(deadlineAt === undefined ? undefined : { deadlineAt }) }
}

/** The turns of the import, which are written in one transaction. The last turn has the row state and the messages. */
function turnsOf({ instance, memo, messages }: InstanceExport, rows: readonly JournalRow[], state: RowState): readonly Turn[] {
  const { id, incarnation } = instance
  const sends = messages.map((message) => ({ ...message, instance: id, incarnation }))
  return rows.map((row, index) => ({
    ...row,
    instance: id,
    incarnation,
    follows: rows[index - 1]?.turn,
    ...(index === 0 ? { create: newInstance(instance, state), ...(memo === undefined ? undefined : { memo }) } : undefined),
    ...(index === 0 || index === rows.length - 1 ? { state } : undefined),
    ...(index === rows.length - 1 ? { sends } : undefined),
  }))
}

/** An ended instance is imported without its unique keys, because another instance may hold them. */
function newInstance(instance: NewInstance, { status }: RowState): NewInstance {
  const { flow } = instance
  if (!flow?.unique || !isTerminal(status)) return instance
  const { unique: _, ...rest } = flow
  return { ...instance, flow: rest }
}

/** A copy under another id with the same journal. Its times and its random numbers are those of the original. */
function copyOf(exported: InstanceExport, id: string, incarnation: string): InstanceExport {
  const { instance, rows } = exported
  const open = foldOf(exported).children.values()
  if (open.length > 0)
    throw new PerdureError(
      "BAD_OPTION",
      `child "${open[0]?.instance}" of instance "${instance.id}" has not ended, and only the original instance receives its end; import the instance under its own id`,
    )
  return { ...exported, instance: { ...instance, id, incarnation }, rows: rows.map((row) => ({ ...row, ...copiedEntries(row, instance.incarnation) })) }
}

function copiedEntries(row: JournalRow, incarnation: string): Pick<JournalRow, "entries" | "blobs"> {
  const recorded = decodeRow(row)
  if (!recorded.some(({ entry }) => entry.type === "run.started")) return row
  const { text, blobs } = encodeEntries(
    recorded.map(({ entry, at, ...place }): Entry => {
      if (entry.type !== "run.started") return entry
      const { parent: _, ...start } = entry
      return { ...start, ...originOf(incarnation, { ...place, at, entry }) }
    }),
  )
  return { entries: text, blobs }
}
