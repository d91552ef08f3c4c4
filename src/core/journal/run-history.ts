import { Payload } from "../values/value-codec.ts"
import { isAsk, type Entry, type EntryOf, type EntryType, type Kept, type Recorded } from "./journal.ts"

/**
 * Which entries a run consists of. Usually everything from its `run.started` on; a run restarted from a step begins with
 * stretches of earlier runs that its `run.started` names, so nothing is copied and old runs stay readable.
 */

/** The entries of the last run, in the order in which they are released. `recorded` may begin before it. */
export function lastRun(recorded: readonly Recorded[]): readonly Recorded[] {
  const start = recorded.findLastIndex(({ entry }) => entry.type === "run.started")
  return start < 0 ? [] : runAt(recorded, start)
}

/** The entries of one run by its number; empty if there is none. */
export function runOf(recorded: readonly Recorded[], run: number): readonly Recorded[] {
  // One that was debounced began several times, so to speak: the last counts.
  const start = recorded.findLastIndex(({ entry }) => entry.type === "run.started" && entry.run === run)
  return start < 0 ? [] : runAt(recorded, start)
}

/** What the random numbers of a run are drawn from. One that keeps what another recorded draws what that one drew. */
export function seedOf(incarnation: string, { run, seed }: { readonly run: number; readonly seed?: string | undefined }): string {
  return seed ?? `${incarnation}:${run}`
}

/** When a run began, as its code sees it. */
export function startOf({ at, entry: { startAt = 0, startedAt = Math.max(at, startAt) } }: Pick<Recorded<EntryOf<"run.started">>, "at" | "entry">): number {
  return startedAt
}

/** What the start of a run says that keeps what another recorded: time and chance are that one's. */
export function asBefore(incarnation: string, start: Recorded<EntryOf<"run.started">>): { readonly seed: string; readonly startedAt: number } {
  return { seed: seedOf(incarnation, start.entry), startedAt: startOf(start) }
}

/** From which position on a journal must be read to have all of the run that this entry starts. */
export function firstPosition(start: Recorded<EntryOf<"run.started">>): number {
  return start.entry.kept?.[0]?.from ?? start.position
}

/**
 * What a run keeps that is restarted from a step: all that was recorded before the step began, and how children ended that were started
 * before. Undefined: no such step.
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

/** The tags and the memo of a run, as its code noted them last in what is kept of it. Undefined: it noted nothing. */
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

/** Asks, what came of them, what the code noted, and what came from outside; not what happened to the earlier run as a whole. */
function isKept(entry: Entry): boolean {
  return "id" in entry || "update" in entry || "patch" in entry || otherKept.has(entry.type)
}
