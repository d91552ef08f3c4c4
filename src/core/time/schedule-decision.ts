import { dueTimes, instanceIdOf, nextDue, type Schedule, withMissed, withSkipped, withStarted } from "./schedule.ts"

/** A due time that is at most this late was not missed: its worker was busy, or is just taking over. */
const promptMs = 10_000

/** The maximum age at which the latest missed time is still fired, if the schedule has no catch-up window. */
const latestMs = 3_600_000

/** At most this many missed times of one outage are counted. */
const missedCountMax = 10_000

export interface Situation {
  readonly id: string
  readonly now: number
  /** The first due time that is not decided yet. */
  readonly dueAt: number | undefined
  /** The instances of `running` that have not ended. */
  readonly live: readonly string[]
  /** Times whose instance cannot be started, because it exists already or another instance has its singleton key. */
  readonly taken: ReadonlyMap<number, "exists" | "singleton">
}

/** One decision of a schedule: its new state and the effects. All of it is written in one transaction. */
export interface Decision {
  readonly schedule: Schedule
  readonly dueAt: number | undefined
  /** The instance whose end needs the next decision. */
  readonly awaits: string | undefined
  /** The due time for which an instance is started. */
  readonly start?: number
  /** Instances to cancel. */
  readonly cancels?: readonly string[]
  /** The decision holds only if the instances of `ended` have ended, and those of `live` have not. */
  readonly ended?: readonly string[]
  readonly live?: readonly string[]
}

/** The next decision of a schedule. A waiting time comes first, then the first due time; else the decision only says when to look again. */
export function decide(before: Schedule, situation: Situation): Decision {
  const { dueAt, now } = situation
  const schedule = before.overlap === "allow" && before.waiting.length === 0 ? before : { ...before, running: situation.live }
  if (schedule.paused !== undefined) return { schedule: before, dueAt: undefined, awaits: undefined }
  const ended = before.running.filter((id) => !schedule.running.includes(id))
  const [waiting, ...rest] = schedule.waiting
  if (waiting !== undefined && schedule.running.length === 0) return { ...start({ ...schedule, waiting: rest }, waiting, dueAt, situation), ended }
  if (dueAt === undefined || dueAt > now) return { schedule, dueAt, awaits: awaited(situation.id, schedule) }
  const { at, caughtUp } = catchUp(schedule, dueAt, now)
  const next = nextDue(schedule, at ?? now)
  if (at === undefined) return { schedule: caughtUp, dueAt: next, awaits: awaited(situation.id, caughtUp) }
  if (schedule.overlap === "allow") return start(caughtUp, at, next, situation)
  if (schedule.running.length === 0) return { ...start(caughtUp, at, next, situation), ended }
  return overlapped(caughtUp, at, next, situation)
}

function start(schedule: Schedule, at: number, dueAt: number | undefined, { id, now, taken }: Situation): Decision {
  const because = taken.get(at)
  const after = because === undefined ? withStarted(schedule, id, at, now) : withSkipped(schedule, at, because)
  return { schedule: after, dueAt, awaits: awaited(id, after), ...(because === undefined ? { start: at } : undefined) }
}

/** Decides on a due time while an instance of the schedule is running. */
function overlapped(schedule: Schedule, at: number, dueAt: number | undefined, { id }: Situation): Decision {
  const { overlap, waiting, running } = schedule
  const live = running.slice(0, 1)
  const become = (after: Schedule): Decision => ({ schedule: after, dueAt, awaits: awaited(id, after), live })
  if (overlap === "skip") return become(withSkipped(schedule, at, "running"))
  if (overlap === "queue") return become(waiting.length > 0 ? withSkipped(schedule, at, "waiting") : { ...schedule, waiting: [at] })
  const superseded = waiting.reduce((skipped, earlier) => withSkipped(skipped, earlier, "superseded"), schedule)
  return { ...become({ ...superseded, waiting: [at] }), cancels: running }
}

/** The due time to fire now, if one is not too old. Older ones are recorded as missed. */
function catchUp(schedule: Schedule, dueAt: number, now: number): { readonly at: number | undefined; readonly caughtUp: Schedule } {
  const oldest = now - Math.max(promptMs, schedule.catchUpMs ?? 0)
  if (dueAt >= oldest) return { at: dueAt, caughtUp: schedule }
  const first = nextDue(schedule, oldest - 1)
  const inTime = first !== undefined && first <= now ? first : undefined
  const at = inTime ?? (schedule.catchUpMs === undefined ? latestOf(schedule, dueAt, now) : undefined)
  const end = (at ?? now + 1) - 1
  const missed = dueTimes(schedule, dueAt, end, missedCountMax)
  const last = missed.length < missedCountMax ? missed.at(-1) : end
  return { at, caughtUp: last === undefined ? schedule : withMissed(schedule, dueAt, last, missed.length) }
}

/** The latest due time of the last `latestMs`. In most cases few times are listed: none was due within the last `promptMs`, so the schedule fires rarely. */
function latestOf(schedule: Schedule, dueAt: number, now: number): number | undefined {
  return dueTimes(schedule, Math.max(dueAt, now - latestMs), now, latestMs / 1_000 + 1).at(-1)
}

/**
 * The instance whose end lets the waiting time start. If none is running, this is the instance of the waiting time itself: it does not exist yet, which
 * counts as ended, so the schedule is decided on again at once.
 */
export function awaited(id: string, { waiting, running, paused }: Schedule): string | undefined {
  const [first] = waiting
  if (first === undefined || paused !== undefined) return undefined
  return running[0] ?? instanceIdOf(id, first)
}
