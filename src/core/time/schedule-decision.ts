import { dueTimes, instanceIdOf, nextDue, type Schedule, withMissed, withSkipped, withStarted } from "./schedule.ts"

/** A time that is so little late was not missed: its worker was busy, or is just taking over. */
const promptMs = 10_000

/** Without a catch-up window: how old the latest missed time may be to be fired. */
const latestMs = 3_600_000

/** Of one outage, no more missed times than this are counted. */
const missedCountMax = 10_000

export interface Situation {
  readonly id: string
  readonly now: number
  /** The first due time that is not decided on. */
  readonly dueAt: number | undefined
  /** Of `running`, those that are not over. */
  readonly live: readonly string[]
  /** Times whose instance cannot be started: it exists already, or another has the key that only one may have. */
  readonly taken: ReadonlyMap<number, "exists" | "singleton">
}

/** What a schedule becomes by one decision, and what hangs on it; all of it is written at once or not at all. */
export interface Decision {
  readonly schedule: Schedule
  readonly dueAt: number | undefined
  /** The instance whose end is the next thing to look at. */
  readonly awaits: string | undefined
  /** The time to start an instance for. */
  readonly start?: number
  /** Instances to cancel. */
  readonly cancels?: readonly string[]
  /** It holds only if these are over, and these are not. */
  readonly ended?: readonly string[]
  readonly live?: readonly string[]
}

/** The next decision of a schedule: about a time that waits, else about its first due time, else about what it waits for. */
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

/** A due time that comes while something runs. */
function overlapped(schedule: Schedule, at: number, dueAt: number | undefined, { id }: Situation): Decision {
  const { overlap, waiting, running } = schedule
  const live = running.slice(0, 1)
  const become = (after: Schedule): Decision => ({ schedule: after, dueAt, awaits: awaited(id, after), live })
  if (overlap === "skip") return become(withSkipped(schedule, at, "running"))
  if (overlap === "queue") return become(waiting.length > 0 ? withSkipped(schedule, at, "waiting") : { ...schedule, waiting: [at] })
  const superseded = waiting.reduce((skipped, earlier) => withSkipped(skipped, earlier, "superseded"), schedule)
  return { ...become({ ...superseded, waiting: [at] }), cancels: running }
}

/** The time to fire now, if one is not too old, with the older ones on record as missed. */
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

/** None is due in the last ten seconds: so there are few in the last hour, unless it is one of an hour that has many. */
function latestOf(schedule: Schedule, dueAt: number, now: number): number | undefined {
  return dueTimes(schedule, Math.max(dueAt, now - latestMs), now, latestMs / 1_000 + 1).at(-1)
}

/** What is not there counts as over: a schedule that waits for nothing is looked at at once. */
export function awaited(id: string, { waiting, running, paused }: Schedule): string | undefined {
  const [first] = waiting
  if (first === undefined || paused !== undefined) return undefined
  return running[0] ?? instanceIdOf(id, first)
}
