import type { Payload } from "../core/codec.ts"
import { PerdureError } from "../core/errors.ts"
import type { Entry, Recorded } from "../core/journal.ts"
import { keptBefore, seedOf } from "../core/run-history.ts"
import type { InstanceRow, NewInstance } from "../ports/journal-store.ts"
import { TurnDraft } from "./turn-draft.ts"

export interface ForkSpec {
  readonly id: string
  readonly from?: string
  readonly incarnation: string
  readonly now: number
  readonly input: Payload | undefined
}

/** The turn that creates an instance with the entries of another's run before a step, at positions of its own. */
export function forkDraft(row: InstanceRow, run: readonly Recorded[], spec: ForkSpec): TurnDraft & { readonly create: NewInstance } {
  const first = run[0]
  if (first?.entry.type !== "run.started") throw new PerdureError("STORE_FAILED", `the journal of instance "${row.id}" has no start`)
  const { id, incarnation, now } = spec
  const kept = spec.from === undefined ? [] : keptBefore(run, spec.from)
  if (kept === undefined) {
    throw new PerdureError("UNKNOWN_STEP", `run ${row.run} of instance "${row.id}" has no step "${spec.from}"; steps() lists those it has`, {
      details: { instance: row.id, step: spec.from },
    })
  }
  const { kept: _, parent: __, startAt: ___, timeoutAt, ...start } = first.entry
  const timeout = timeoutAt === undefined ? undefined : { timeoutAt: now + (timeoutAt - Math.max(first.at, first.entry.startAt ?? 0)) }
  const draft = new TurnDraft(1, now)
  draft.add({ ...start, run: 1, seed: seedOf(row.incarnation, first.entry), ...timeout, ...(spec.input ? { value: spec.input } : undefined) })
  const positions = new Map<number, number>()
  for (const { position, at, entry } of run.filter((item) => kept.some(({ from, to }) => item.position >= from && item.position <= to))) {
    positions.set(position, draft.end + 1)
    draft.add(placed(entry, at, positions))
  }
  return Object.assign(draft, { create: { id, incarnation, workflow: row.workflow, version: row.version, createdAt: now, tags: row.tags } })
}

/** The entry with its own time, as its turn has another; and what it refers to by position, at its new place. */
function placed(entry: Entry, at: number, positions: ReadonlyMap<number, number>): Entry {
  const moved = "from" in entry ? { ...entry, from: positions.get(entry.from) ?? entry.from } : entry
  return { ...moved, at }
}
