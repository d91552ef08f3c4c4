import { overlaps } from "../../core/time/schedule.ts"
import type { BackfillOptions, ScheduleControlResult, ScheduleFilter, ScheduleOptions, ScheduleUpdate } from "../../client-api/schedule-client.ts"
import { created, maybe, noContent, ok, required, route, type Route } from "../route-definition.ts"
import { anything, boolean, either, integer, list, nothing, object, oneOf, optional, type Schema, string } from "../schema.ts"
import { duration, instant, scheduleDescription, scheduleOf, scheduleSummary, scheduleSummaryOf, started } from "../response-schemas.ts"
import { paging } from "./instances.ts"

const overlap = optional(oneOf(overlaps))
const times = { cron: optional(string()), timeZone: optional(string()), every: optional(duration) }
const tags = optional(list(string()))
const payload = optional(anything("the input of each instance"))
const removable = <T>(schema: Schema<T>) => optional(either([schema, nothing()], "null removes it"))

const newSchedule = object(
  {
    id: string(),
    type: string({ description: "the name of the workflow" }),
    ...times,
    payload,
    overlap,
    catchUp: optional(duration),
    tags,
    timeout: optional(duration),
    taskQueue: optional(string()),
    startAt: optional(instant),
    endAt: optional(instant),
    paused: optional(boolean()),
    ifExists: optional(oneOf(["error", "update"])),
  } satisfies Record<Exclude<keyof ScheduleOptions<unknown>, "input"> | "payload" | "id" | "type", Schema<unknown>>,
  "NewSchedule",
)
const scheduleUpdate = object(
  {
    ...times,
    payload,
    overlap,
    catchUp: removable(duration),
    tags,
    timeout: removable(duration),
    taskQueue: removable(string()),
    startAt: removable(instant),
    endAt: removable(instant),
  } satisfies Record<Exclude<keyof ScheduleUpdate, "input"> | "payload", Schema<unknown>>,
  "ScheduleUpdate",
)
const firing = object({ id: string(), scheduledAt: integer(), outcome: oneOf(["started", "queued", "exists"]) })
const controlled = object({ id: string(), accepted: optional(boolean()), reason: optional(string()) })

const controlOf = ({ accepted, ...rest }: ScheduleControlResult) => (accepted ? rest : { ...rest, accepted })

const common = { tag: "schedules", actions: ["schedule"] } as const
const whole = { description: "the schedule", schema: scheduleDescription }
const change = { description: "the change is done, or was not needed, and `reason` says why", schema: controlled }

export const scheduleRoutes: readonly Route[] = [
  route({
    ...common,
    method: "GET",
    path: "/schedules",
    name: "listSchedules",
    summary: "Schedules, ordered by id",
    query: { type: optional(string()), workflow: optional(string()), ...paging },
    answers: { 200: { description: "a page of schedules", schema: object({ schedules: list(scheduleSummary), cursor: optional(string()) }) } },
    errors: [400],
    handle: async ({ client, query: { type, workflow = type, ...rest } }) => {
      const filter = { ...rest, ...(workflow === undefined ? undefined : { workflow }) } as ScheduleFilter
      const { schedules, cursor } = await client.schedules.list(filter)
      return ok({ schedules: schedules.map(scheduleSummaryOf), ...(cursor === undefined ? undefined : { cursor }) })
    },
  }),
  route({
    ...common,
    method: "POST",
    path: "/schedules",
    name: "createSchedule",
    summary: "Create a schedule, by a cron expression or an interval",
    body: required(newSchedule),
    workflowsOf: ({ type }) => [type],
    answers: { 201: whole },
    errors: [400, 409, 413],
    handle: async ({ client, body: { id, type, payload: input, ...rest } }) => {
      const options = { ...rest, workflow: type, ...(input === undefined ? undefined : { input }) }
      const handle = await client.schedules.create(id, options as unknown as ScheduleOptions<unknown> & { workflow: string })
      return created(scheduleOf(await handle.describe()))
    },
  }),
  route({
    ...common,
    method: "GET",
    path: "/schedules/:id",
    name: "getSchedule",
    summary: "A schedule with its next times, its latest instances and what it waits for",
    answers: { 200: whole },
    errors: [404],
    handle: async ({ client, params: { id } }) => ok(scheduleOf(await client.schedules.get(id).describe())),
  }),
  route({
    ...common,
    method: "PATCH",
    path: "/schedules/:id",
    name: "updateSchedule",
    summary: "Change a schedule; options that are omitted stay as they are",
    body: required(scheduleUpdate),
    answers: { 200: whole },
    errors: [400, 404, 413],
    handle: async ({ client, params: { id }, body: { payload: input, ...rest } }) => {
      const handle = client.schedules.get(id)
      await handle.update({ ...rest, ...(input === undefined ? undefined : { input }) } as unknown as ScheduleUpdate)
      return ok(scheduleOf(await handle.describe()))
    },
  }),
  route({
    ...common,
    method: "POST",
    path: "/schedules/:id/pause",
    name: "pauseSchedule",
    summary: "Pause a schedule: no time fires until it is resumed",
    body: maybe(object({ reason: optional(string()) })),
    answers: { 200: change },
    errors: [400, 404],
    handle: async ({ client, params: { id }, body }) => ok(controlOf(await client.schedules.get(id).pause(body?.reason))),
  }),
  route({
    ...common,
    method: "POST",
    path: "/schedules/:id/resume",
    name: "resumeSchedule",
    summary: "Resume a schedule",
    body: maybe(object({ reason: optional(string()) })),
    answers: { 200: change },
    errors: [400, 404],
    handle: async ({ client, params: { id } }) => ok(controlOf(await client.schedules.get(id).resume())),
  }),
  route({
    ...common,
    method: "POST",
    path: "/schedules/:id/trigger",
    name: "triggerSchedule",
    summary: "Start an instance now, also beside other instances",
    body: maybe(object({ payload })),
    answers: { 200: { description: "the instance", schema: started } },
    errors: [400, 404, 413],
    handle: async ({ client, params: { id }, body }) => {
      const handle = await client.schedules.get(id).trigger(body?.payload === undefined ? undefined : { input: body.payload })
      const { workflow, status } = await handle.describe()
      return ok({ id: handle.id, type: workflow, status })
    },
  }),
  route({
    ...common,
    method: "POST",
    path: "/schedules/:id/backfill",
    name: "backfillSchedule",
    summary: "Fire past times whose instances do not exist",
    body: required(object({ from: instant, to: instant, overlap: optional(oneOf(["allow", "queue"])) })),
    answers: { 200: { description: "the outcome of each time", schema: object({ firings: list(firing) }) } },
    errors: [400, 404],
    handle: async ({ client, params: { id }, body }) => ok({ firings: await client.schedules.get(id).backfill(body as BackfillOptions) }),
  }),
  route({
    ...common,
    method: "DELETE",
    path: "/schedules/:id",
    name: "deleteSchedule",
    summary: "Delete a schedule; its instances stay",
    answers: { 204: { description: "the schedule is deleted" } },
    errors: [404],
    handle: async ({ client, params: { id } }) => {
      await client.schedules.get(id).delete()
      return noContent
    },
  }),
]
