import type { Encoded } from "../../core/values/value-codec.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { describeRecurrence } from "../../core/time/recurrence.ts"
import { decodeSchedule, dueTimes, type FiringRecord, instanceIdOf, type Schedule, type SkipReason } from "../../core/time/schedule.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"
import type { ScheduleDescription, ScheduledInstance, ScheduleSummary, UnfiredTimes } from "../../client-api/schedule-client.ts"

const nextMax = 5
const recentMax = 10

/** A schedule that is due for longer than this is probably not fired by any worker. */
const lateMs = 10_000

export function summaryOf({ id, workflow, dueAt, createdAt, updatedAt, state }: ScheduleRow): ScheduleSummary {
  const { recurrence, overlap, paused } = decodeSchedule(state)
  return {
    id,
    workflow,
    times: describeRecurrence(recurrence),
    overlap,
    status: paused ? "paused" : dueAt === undefined ? "ended" : "active",
    ...(dueAt === undefined ? undefined : { nextAt: dueAt }),
    createdAt,
    updatedAt,
  }
}

export async function describeSchedule(row: ScheduleRow, input: Encoded, look: Look, context: ViewContext): Promise<ScheduleDescription> {
  const schedule = decodeSchedule(row.state)
  const { recurrence, catchUpMs, timeoutMs, taskQueue, tags = [], startAt, endAt, paused, waiting, counts, log } = schedule
  const started = log.filter((record) => record.outcome === "started").slice(-recentMax)
  const recent = await Promise.all(started.toReversed().map((record) => instanceOf(row.id, record, look)))
  const [lastFiring] = recent
  return {
    ...summaryOf(row),
    input: storedPayload(input, context.codecs, schedule.sensitive).shown(),
    ...("cron" in recurrence ? { cron: recurrence.cron, timeZone: recurrence.timeZone ?? "UTC" } : { everyMs: recurrence.every as number }),
    ...(catchUpMs === undefined ? undefined : { catchUpMs }),
    ...(timeoutMs === undefined ? undefined : { timeoutMs }),
    tags,
    ...(taskQueue === undefined ? undefined : { taskQueue }),
    ...(startAt === undefined ? undefined : { startAt }),
    ...(endAt === undefined ? undefined : { endAt }),
    ...(paused ? { paused } : undefined),
    nextTimes: row.dueAt === undefined ? [] : dueTimes(schedule, row.dueAt, Infinity, nextMax),
    ...(lastFiring ? { lastFiring } : undefined),
    recent,
    waiting,
    counts,
    unfired: log.flatMap((record) => unfired(record)).toReversed(),
    because: await reasons(row, schedule, look, context),
  }
}

type Look = (id: string) => Promise<InstanceRow | undefined>

interface ViewContext {
  readonly now: number
  /** The workflows that this engine has. */
  readonly workflows: readonly string[]
  readonly codecs: PayloadCodecs | undefined
}

async function instanceOf(schedule: string, { at, startedAt, by }: Extract<FiringRecord, { outcome: "started" }>, look: Look): Promise<ScheduledInstance> {
  const id = instanceIdOf(schedule, at)
  const row = await look(id)
  return { id, scheduledAt: at, startedAt, ...(by === undefined ? undefined : { by }), ...(row ? { status: row.status } : undefined) }
}

const skipReasons: Record<SkipReason, string> = {
  running: "an instance of the schedule was not over",
  waiting: "another time was waiting already",
  superseded: "a later time came while it waited",
  exists: "its instance existed already",
  singleton: "another instance of the workflow, which may have only one, was not over",
}

function unfired(record: FiringRecord): readonly UnfiredTimes[] {
  if (record.outcome === "started") return []
  const { outcome, from, to, count } = record
  const reason = record.outcome === "skipped" ? skipReasons[record.because] : "nobody was there to fire it, and then it was too old to catch up"
  return [{ outcome, from, to, count, reason }]
}

async function reasons(row: ScheduleRow, schedule: Schedule, look: Look, { now, workflows }: ViewContext): Promise<readonly string[]> {
  const { paused, waiting } = schedule
  if (paused) return [`it is paused${paused.reason === undefined ? "" : `: ${paused.reason}`}; resume it`]
  if (row.dueAt === undefined && waiting.length === 0) return ["no time is left"]
  const found: string[] = []
  const awaits = row.awaits === undefined ? undefined : await look(row.awaits)
  if (awaits)
    found.push(`${waiting.length === 1 ? "a time waits" : `${waiting.length} times wait`} for instance "${awaits.id}" to end, which is ${awaits.status}`)
  if (row.dueAt !== undefined && row.dueAt < now - lateMs) {
    const hint = workflows.includes(row.workflow) ? "" : `; this engine does not have workflow "${row.workflow}" either`
    found.push(`it was due at ${new Date(row.dueAt).toISOString()}, and no worker that has its workflow is running${hint}`)
  }
  return found
}
