import { PerdureError } from "../../core/errors.ts"
import { dueTimes, instanceIdOf, type Schedule, scheduleInstant, withStarted } from "../../core/time/schedule.ts"
import { awaited } from "../../core/time/schedule-decision.ts"
import type { BackfilledFiring, BackfillOptions } from "../../client-api/schedule-client.ts"
import type { SchedulingComponents } from "../engine-components.ts"
import { wallNow } from "../wall-clock.ts"
import { scheduleNotFound } from "./schedule-writer.ts"

/** The times that one call may backfill, and the times that may wait in a schedule. */
const backfillMax = 1_000

/** The instances that one transaction starts, and the text of their inputs. */
const startsMax = 200
const startTextMax = 8 * 1024 * 1024

/** Fires the due times of a window whose instances do not exist, oldest first. */
export async function backfillSchedule(components: SchedulingComponents, id: string, options: BackfillOptions): Promise<readonly BackfilledFiring[]> {
  const { store, host, scheduler, scheduleWriter } = components
  const { from, to } = checkWindow(options, wallNow(host))
  const input = await store.schedules.input(id)
  if (input === undefined) throw scheduleNotFound(id)
  const startMax = Math.max(1, Math.min(startsMax, Math.floor(startTextMax / Math.max(1, input.length))))
  const started = new Set<number>()
  let answer: readonly BackfilledFiring[] = []
  const more = () =>
    scheduleWriter.change(id, async (before, row) => {
      const times = checkedTimes(before, from, to)
      const missing: number[] = []
      for (const at of times) if (!before.waiting.includes(at) && !(await store.directory.get(instanceIdOf(id, at)))) missing.push(at)
      const isSingleton = scheduleWriter.starts.isSingleton(row.workflow, before.version)
      if (isSingleton && options.overlap === "allow") throw notAtOnce(row.workflow)
      const isQueued = (options.overlap ?? (before.overlap === "allow" && !isSingleton ? "allow" : "queue")) === "queue"
      const starts = isQueued ? [] : missing.slice(0, startMax)
      const waiting = isQueued ? [...before.waiting, ...missing] : before.waiting
      if (waiting.length > backfillMax) throw tooMany(`${waiting.length} times would wait; wait until fewer do`)
      for (const at of starts) started.add(at)
      answer = times.map((at) => ({
        id: instanceIdOf(id, at),
        scheduledAt: at,
        outcome: started.has(at) ? "started" : waiting.includes(at) ? "queued" : "exists",
      }))
      if (missing.length === 0) return undefined
      const now = host.now()
      const schedule = starts.reduce((all, at) => withStarted(all, id, at, now, "backfill"), { ...before, waiting })
      return { schedule, dueAt: row.dueAt, awaits: awaited(id, schedule), starts }
    })
  while (await more());
  scheduler.wake()
  return answer
}

function checkWindow(options: BackfillOptions, now: number): { readonly from: number; readonly to: number } {
  const from = scheduleInstant(options.from, "from")
  const to = scheduleInstant(options.to, "to")
  const bad = (message: string) => new PerdureError("BAD_OPTION", `backfill: ${message}`)
  if (to < from) throw bad("to is before from; give a later to")
  if (to > now) throw bad("to is in the future; times to come fire by themselves")
  return { from, to }
}

function checkedTimes(schedule: Schedule, from: number, to: number): readonly number[] {
  const times = dueTimes(schedule, from, to, backfillMax + 1)
  if (times.length <= backfillMax) return times
  throw tooMany(
    `there are more than ${backfillMax} times from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}; backfill a shorter stretch at a time`,
  )
}

function notAtOnce(workflow: string): PerdureError {
  return new PerdureError("BAD_OPTION", `backfill: there may be only one instance of workflow "${workflow}" at a time; use overlap: "queue", or omit overlap`)
}

function tooMany(message: string): PerdureError {
  return new PerdureError("LIMIT_EXCEEDED", `backfill: ${message}`, { details: { limit: "backfill", max: backfillMax } })
}
