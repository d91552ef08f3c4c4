import type { Payload } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Entry, Recorded } from "../../core/journal/journal.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { annotationsOf, originOf, isWithin, keptBefore } from "../../core/journal/run-history.ts"
import { storedQueue } from "../../core/workflow/task-queue.ts"
import type { InstanceRow, NewInstance } from "../../ports/journal-store.ts"
import { TurnDraft } from "../runner/turn-draft.ts"

export interface ForkSpec {
  readonly id: string
  readonly from?: string
  readonly incarnation: string
  readonly now: number
  readonly input: Payload | undefined
  readonly codecs: PayloadCodecs | undefined
}

/** `timeoutAt` is the deadline of the new instance. */
export type ForkDraft = TurnDraft & { create: NewInstance; readonly timeoutAt: number | undefined }

/** The turn that creates the fork. It holds the entries that the original recorded before a step, at new positions. */
export function forkDraft(row: InstanceRow, run: readonly Recorded[], spec: ForkSpec): ForkDraft {
  const first = run[0]
  if (first?.entry.type !== "run.started")
    throw new PerdureError("STORE_FAILED", `the journal of instance "${row.id}" has no run.started entry; restore the database from a backup`)
  const { id, incarnation, now } = spec
  const kept = spec.from === undefined ? [] : keptBefore(run, spec.from)
  if (kept === undefined) {
    throw new PerdureError("UNKNOWN_STEP", `run ${row.run} of instance "${row.id}" has no step "${spec.from}"; steps() lists those it has`, {
      details: { instance: row.id, step: spec.from },
    })
  }
  const { kept: _, parent: __, startAt: ___, seed: ____, startedAt: _____, eventIds: ______, timeoutAt, ...start } = first.entry
  const timeout = timeoutAt === undefined ? undefined : { timeoutAt: now + (timeoutAt - Math.max(first.at, first.entry.startAt ?? 0)) }
  const draft = new TurnDraft(1, now, spec.codecs)
  const prefix = run.filter(({ position }) => isWithin(position, kept))
  refuseChildren(prefix)
  const again = prefix.length === 0 ? undefined : originOf(row.incarnation, first as Recorded<typeof first.entry>)
  draft.add({ ...start, run: 1, ...timeout, ...again, ...(spec.input ? { value: spec.input } : undefined) })
  const positions = new Map<number, number>()
  for (const { position, at, entry } of prefix) {
    positions.set(position, draft.end + 1)
    draft.add(placed(entry, at, positions))
  }
  const { tags = row.tags, memo } = annotationsOf(run, kept) ?? {}
  draft.memo = memo ? draft.stored(memo) : row.memo
  const create = {
    id,
    incarnation,
    workflow: row.workflow,
    version: row.version,
    createdAt: now,
    tags,
    ...storedQueue(row.queue),
    ...(row.events && { events: row.events }),
  }
  return Object.assign(draft, { create, timeoutAt: timeout?.timeoutAt })
}

/** Refuses a fork that would keep an open child: the result of a child goes only to the instance that started it. */
function refuseChildren(prefix: readonly Recorded[]): void {
  const ended = new Set(prefix.map(({ entry }) => (entry.type === "child.ended" ? entry.instance : undefined)))
  for (const { entry } of prefix) {
    if (entry.type !== "step.started" || entry.child === undefined || ended.has(entry.child.instance)) continue
    throw new PerdureError(
      "BAD_OPTION",
      `child "${entry.child.instance}" has not ended, and only the original instance receives its end; fork from a step before the start of the child, or fork later`,
    )
  }
}

/** The entry with its original time, because the turn of the fork has a later one. A position that the entry refers to is replaced by the new position. */
function placed(entry: Entry, at: number, positions: ReadonlyMap<number, number>): Entry {
  const moved = "from" in entry && entry.from !== undefined ? { ...entry, from: positions.get(entry.from) ?? entry.from } : entry
  return { ...moved, at }
}
