import { Payload } from "../values/value-codec.ts"
import { isAsk, type Entry, type EntryOf, type EntryType, type Kept, type Recorded } from "./journal.ts"

/**
 * The entries that a run consists of. Usually these are all entries from its `run.started` on. A run that was restarted from a step also has ranges of
 * earlier runs, which its `run.started` names. So nothing is copied, and old runs stay readable.
 */

/** The entries of the last run, in the order in which they are released. `recorded` may contain earlier runs. */
export function lastRun(recorded: readonly Recorded[]): readonly Recorded[] {
  const start = recorded.findLastIndex(({ entry }) => entry.type === "run.started")
  return start < 0 ? [] : runAt(recorded, start)
}

/** The entries of the run with this number; empty if there is no such run. */
export function runOf(recorded: readonly Recorded[], run: number): readonly Recorded[] {
  // A debounced instance has several `run.started` of one run, of which the last counts.
  const start = recorded.findLastIndex(({ entry }) => entry.type === "run.started" && entry.run === run)
  return start < 0 ? [] : runAt(recorded, start)
}

/** The seed of a run's random numbers. A run that keeps entries of another run has the seed of that run. */
export function seedOf(incarnation: string, { run, seed }: { readonly run: number; readonly seed?: string | undefined }): string {
  return seed ?? `${incarnation}:${run}`
}

/** The start time of a run as its code sees it. */
export function startOf({ at, entry: { startAt = 0, startedAt = Math.max(at, startAt) } }: Pick<Recorded<EntryOf<"run.started">>, "at" | "entry">): number {
  return startedAt
}

/** The fields of `run.started` for a run that keeps entries of another run: it has the seed and the start time of that run. */
export function originOf(incarnation: string, start: Recorded<EntryOf<"run.started">>): { readonly seed: string; readonly startedAt: number } {
  return { seed: seedOf(incarnation, start.entry), startedAt: startOf(start) }
}

/** The position from which the journal has to be read to get the whole run that this entry starts. */
export function firstPosition(start: Recorded<EntryOf<"run.started">>): number {
  return start.entry.kept?.[0]?.from ?? start.position
}

/**
 * The ranges that a run keeps when it is restarted from a step: everything recorded before the step started, and the ends of children that were started
 * before. Undefined: the run has no such step.
 */
export function keptBefore(run: readonly Recorded[], step: string): readonly Kept[] | undefined {
  const end = run.findIndex(({ entry }) => isAsk(entry) && entry.id === step)
  if (end < 0) return undefined
  const cancelled = run.findIndex(({ entry }) => entry.type === "cancel.requested" || entry.type === "terminate.requested")
  const kept: { from: number; to: number }[] = []
  const before = cancelled < 0 ? end : Math.min(end, cancelled)
  const children = new Set<string>()
  for (const [index, { position, entry }] of run.entries()) {
    if (index >= before && !(entry.type === "child.ended" && children.has(entry.id))) continue
    if (entry.type === "step.started" && entry.child) children.add(entry.id)
    if (!isKept(entry)) continue
    const last = kept.at(-1)
    if (last && last.to === position - 1) last.to = position
    else kept.push({ from: position, to: position })
  }
  return kept
}

/** The last tags and memo that a run's code has set in the kept ranges. Undefined: the code has set none. */
export function annotationsOf(
  run: readonly Recorded[],
  kept: readonly Kept[] | undefined,
): { readonly tags: readonly string[]; readonly memo: Payload } | undefined {
  if (!run.some(({ entry }) => entry.type === "annotated")) return undefined
  let tags: readonly string[] = []
  let memo = Payload.undefined
  for (const { entry, position } of run) {
    if (entry.type === "run.started") [tags, memo] = [entry.tags ?? [], entry.memo ?? Payload.undefined]
    else if (entry.type === "annotated" && isWithin(position, kept)) [tags, memo] = [entry.tags ?? tags, entry.value ?? memo]
  }
  return { tags, memo }
}

export function isWithin(position: number, kept: readonly Kept[] = []): boolean {
  return kept.some(({ from, to }) => position >= from && position <= to)
}

function runAt(recorded: readonly Recorded[], start: number): readonly Recorded[] {
  const { entry, run } = recorded[start]!
  const next = recorded.findIndex(({ entry: later }, index) => index > start && later.type === "run.started")
  const own = recorded.slice(start, next < 0 ? undefined : next)
  const kept = (entry as EntryOf<"run.started">).kept
  if (kept === undefined || kept.length === 0) return own
  const before = recorded.filter(({ position }) => kept.some(({ from, to }) => position >= from && position <= to))
  return [...own.slice(0, 1), ...before, ...own.slice(1).filter((item) => item.run === run)]
}

const otherKept: ReadonlySet<string> = new Set<EntryType>(["event.received", "event.handled", "annotated"])

/** Whether a restarted run keeps the entry: asks and their results, annotations, and events do count; entries about the earlier run as a whole do not. */
function isKept(entry: Entry): boolean {
  return "id" in entry || "update" in entry || "patch" in entry || otherKept.has(entry.type)
}
