import { PerdureError } from "../../core/errors.ts"
import type { ControlResult } from "../../client-api/client-api.ts"
import { type Answer, maybe, ok, route, type Route } from "../route-definition.ts"
import { anything, boolean, object, optional, string } from "../schema.ts"
import { control, controlOf } from "../response-schemas.ts"

/** Controls of instances. A request is answered when it is durable, which may be before it has taken effect. */

const reason = optional(string())
const answers = { 200: { description: "the control is accepted and durable, or the instance is in the wanted state already", schema: control } }
const common = { method: "POST", tag: "control", actions: ["manage"], answers, errors: [400, 404, 409] } as const

/** Answers 409 if the control is refused and the instance is not in the wanted state anyway. */
function answerOf(result: ControlResult, isInWantedState: boolean): Answer {
  if (result.accepted || isInWantedState) return ok(controlOf(result))
  throw new PerdureError("CONTROL_REFUSED", `instance "${result.id}": ${result.reason ?? `it is ${result.status}`}`, { details: { ...result } })
}

export const controlRoutes: readonly Route[] = [
  route({
    ...common,
    path: "/workflows/:id/pause",
    name: "pauseInstance",
    summary: "Pause an instance at its next step",
    body: maybe(object({ reason })),
    handle: async ({ client, params: { id }, body }) => {
      const result = await client.pause(id, body?.reason)
      return answerOf(result, result.status === "paused" || result.phase === "pausing")
    },
  }),
  route({
    ...common,
    path: "/workflows/:id/resume",
    name: "resumeInstance",
    summary: "Resume an instance that is paused or stalled; every other instance stays as it is",
    body: maybe(object({ reason })),
    handle: async ({ client, params: { id } }) => answerOf(await client.resume(id), true),
  }),
  route({
    ...common,
    path: "/workflows/:id/cancel",
    name: "cancelInstance",
    summary: "Cancel an instance: it may clean up",
    body: maybe(object({ reason })),
    handle: async ({ client, params: { id }, body }) => {
      const result = await client.cancel(id, body?.reason)
      return answerOf(result, result.phase === "cancelling" || result.phase === "rollingBack")
    },
  }),
  route({
    ...common,
    path: "/workflows/:id/terminate",
    name: "terminateInstance",
    summary: "End an instance at once; with `rollback`, after its completed steps are undone",
    body: maybe(object({ reason, rollback: optional(boolean()) })),
    handle: async ({ client, params: { id }, body = {} }) => {
      const result = await client.terminate(id, body)
      return answerOf(result, result.phase === "rollingBack")
    },
  }),
  route({
    ...common,
    path: "/workflows/:id/restart",
    name: "restartInstance",
    summary: "Run an instance again; `from` keeps everything that was recorded before that step",
    body: maybe(object({ from: optional(string()), reason })),
    handle: async ({ client, params: { id }, body }) => answerOf(await client.restart(id, body?.from === undefined ? {} : { from: body.from }), false),
  }),
  route({
    ...common,
    path: "/workflows/:id/fork",
    name: "forkInstance",
    summary: "Create an instance that begins with the record of this instance before the step `from`",
    body: maybe(
      object({
        id: optional(string({ description: "the id of the new instance; default: a random id" })),
        from: optional(string()),
        payload: optional(anything()),
        requestId: optional(string({ description: "a random text that identifies this fork: a repeated request is the same fork" })),
        reason,
      }),
    ),
    handle: async ({ client, params: { id }, body = {} }) => {
      const { from, payload, requestId, id: newId = crypto.randomUUID() } = body
      const options = {
        id: newId,
        ...(from === undefined ? undefined : { from }),
        ...(payload === undefined ? undefined : { input: payload }),
        ...(requestId === undefined ? undefined : { requestId }),
      }
      const fork = await client.fork(id, options)
      return ok({ id: fork.id, status: await fork.status() })
    },
  }),
]
