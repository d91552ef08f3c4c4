import { PerdureError } from "../../core/errors.ts"
import { dueAfterChange, encodeSchedule, hasSameRecurrence, nextDue, type Schedule } from "../../core/time/schedule.ts"
import { awaited } from "../../core/time/schedule-decision.ts"
import type { ScheduleCreation } from "../../client-api/schedule-calls.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"
import type { SchedulingComponents } from "../engine-components.ts"
import { checkScheduleId, definitionOf } from "./schedule-options.ts"
import { randomToken } from "../random-token.ts"
import { wallNow } from "../wall-clock.ts"

const noFirings = { waiting: [], running: [], counts: { started: 0, skipped: 0, missed: 0 }, log: [] } as const

/** Creates a schedule. A schedule with this id that exists is an error, or is changed to the new declaration. */
export async function declareSchedule(components: SchedulingComponents, id: string, options: ScheduleCreation): Promise<void> {
  const { store, host, settings, scheduleWriter } = components
  checkScheduleId(id, settings.limits.idLengthMax)
  const { ifExists = "error", paused, workflow: definition, input: value } = options
  const { workflow, version, input, sensitive } = await scheduleWriter.starts.input(definition, value)
  const now = host.now()
  const schedule: Schedule = {
    ...definitionOf(options),
    version,
    ...(sensitive ? { sensitive } : undefined),
    ...(paused === true ? { paused: { at: now } } : undefined),
    ...noFirings,
  }
  const dueAt = schedule.paused ? undefined : nextDue(schedule, wallNow(host))
  const row: ScheduleRow = {
    id,
    incarnation: randomToken(host),
    revision: 1,
    workflow,
    createdAt: now,
    updatedAt: now,
    ...(dueAt === undefined ? undefined : { dueAt }),
    state: encodeSchedule(schedule),
  }
  if ((await store.schedules.write({ row, input })) !== "lost") return
  if (ifExists === "error")
    throw new PerdureError("SCHEDULE_EXISTS", `schedule "${id}" exists; choose another id, or say ifExists: "update" to change it`, {
      details: { schedule: id },
    })
  await redeclareSchedule(components, id, { ...schedule, workflow, input, wantsPause: paused })
}

interface Declaration extends Schedule {
  readonly workflow: string
  readonly input: string
  readonly wantsPause: boolean | undefined
}

/** Writes only what differs: a deploy may declare an unchanged schedule again. */
async function redeclareSchedule(components: SchedulingComponents, id: string, declaration: Declaration): Promise<void> {
  const { store, host, scheduleWriter } = components
  const { workflow, input, wantsPause, paused: _, ...declared } = declaration
  await scheduleWriter.change(id, async (before, row) => {
    const { waiting, running, counts, log } = before
    const now = host.now()
    const paused = wantsPause === undefined ? before.paused : wantsPause ? (before.paused ?? { at: now }) : undefined
    const schedule: Schedule = { ...declared, waiting, running, counts, log, ...(paused ? { paused } : undefined) }
    const isEqualInput = (await store.schedules.input(id)) === input
    if (isEqualInput && row.workflow === workflow && isEqualDefinition(schedule, before)) return undefined
    const dueAt = dueAfterChange(before, row.dueAt, schedule, wallNow(host))
    return { schedule, workflow, dueAt, awaits: awaited(id, schedule), ...(isEqualInput ? undefined : { input }) }
  })
}

function isEqualDefinition(a: Schedule, b: Schedule): boolean {
  const text = (schedule: Schedule) => JSON.stringify(Object.entries(schedule).toSorted(([keyA], [keyB]) => (keyA < keyB ? -1 : 1)))
  return hasSameRecurrence(a, b) && text({ ...a, recurrence: b.recurrence }) === text(b)
}
