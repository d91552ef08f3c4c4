import { durationMs, type Duration } from "../../core/time/duration.ts"
import { eitherSignal } from "../combined-signal.ts"
import { ok, required, route, type Route } from "../route-definition.ts"
import { claimedActivity, duration, queueInfo } from "../response-schemas.ts"
import { anything, boolean, integer, list, object, oneOf, optional, string } from "../schema.ts"

/** Task queues, and the requests of workers that run activities in any language. */

const token = string({ minLength: 1, description: "the token of the claim" })
const claim = object({
  worker: string({ minLength: 1, description: "a name that tells this worker and its queue from all others" }),
  activities: list(string({ minLength: 1 }), { maxItems: 1_000, description: "the names of the activities that the worker has" }),
  max: optional(integer({ minimum: 1, maximum: 100, description: "how many tasks to claim at most; default 1" })),
  wait: optional(duration),
})
const heartbeat = object({
  token,
  details: optional(anything("how far the activity has come; the next attempt gets it")),
  renew: optional(boolean({ description: "true: only keep the claim; the activity has reported nothing" })),
})
const complete = object({ token, result: optional(anything()) })
const failure = object({
  token,
  error: optional(anything("a text, or an object with `message`, and `name`, `code` and other fields")),
  retryable: optional(boolean({ description: "false: no further attempt can help" })),
})

/** The error that a worker in any language describes. */
function errorFrom(given: unknown): unknown {
  if (typeof given === "string" || given === undefined || given === null) return named("Error", given ?? "the activity failed", {})
  if (typeof given !== "object" || given instanceof Error) return given
  const { message, name, stack: _, ...fields } = given as Readonly<Record<string, unknown>>
  return typeof message === "string" ? named(typeof name === "string" ? name : "Error", message, fields) : given
}

/** The stack is that of the server, and says nothing about the activity. */
function named(name: string, message: string, fields: object): Error {
  const safe = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== "__proto__"))
  return Object.assign(new Error(message), safe, { name, stack: `${name}: ${message}` })
}

const outcome = <const S extends string>(status: S) => object({ id: string(), status: oneOf([status]) })
const stale = { errors: [400, 409, 422] }

export const taskRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/queues",
    name: "listQueues",
    summary: "The task queues: how many activities wait, since when, and which workers take them",
    tag: "tasks",
    actions: ["read"],
    answers: { 200: { description: "the queues that have activities or workers", schema: object({ queues: list(queueInfo) }) } },
    handle: async ({ client }) => ok({ queues: await client.queues() }),
  }),
  route({
    method: "POST",
    path: "/queues/:queue/claim",
    name: "claimTasks",
    summary: "Claim activities of a task queue; `wait` waits for one",
    tag: "tasks",
    actions: ["work"],
    body: required(claim),
    answers: { 200: { description: "the claimed tasks, the oldest first", schema: object({ tasks: list(claimedActivity) }) } },
    errors: [400, 422],
    handle: async ({ client, settings, request, params: { queue }, body: { worker, activities, max, wait } }) => {
      const waitMs = wait === undefined ? 0 : Math.min(durationMs(wait as Duration, "wait"), settings.resultWaitMsMax)
      const signal = eitherSignal(request.signal, settings.signal)
      const tasks = await client.tasks.claim(queue, { worker, activities, wait: waitMs, signal, ...(max === undefined ? undefined : { max }) })
      return ok({ tasks })
    },
  }),
  route({
    method: "POST",
    path: "/tasks/:task/heartbeat",
    name: "heartbeatTask",
    summary: "Keep a claim, and report that the activity is alive; 409: stop working on it",
    tag: "tasks",
    actions: ["work"],
    body: required(heartbeat),
    answers: { 200: { description: "the claim holds; go on", schema: outcome("claimed") } },
    ...stale,
    handle: async ({ client, params: { task: id }, body: { token: of, ...options } }) => {
      await client.tasks.heartbeat({ id, token: of }, options)
      return ok({ id, status: "claimed" })
    },
  }),
  route({
    method: "POST",
    path: "/tasks/:task/complete",
    name: "completeTask",
    summary: "End an activity with its result; 409: the claim is over, and nothing changes",
    tag: "tasks",
    actions: ["work"],
    body: required(complete),
    answers: { 200: { description: "the result is stored", schema: outcome("completed") } },
    ...stale,
    handle: async ({ client, params: { task: id }, body: { token: of, result } }) => {
      await client.tasks.complete({ id, token: of }, result)
      return ok({ id, status: "completed" })
    },
  }),
  route({
    method: "POST",
    path: "/tasks/:task/fail",
    name: "failTask",
    summary: "End an attempt with an error; 409: the claim is over, and nothing changes",
    tag: "tasks",
    actions: ["work"],
    body: required(failure),
    answers: { 200: { description: "the error is stored; the workflow decides about another attempt", schema: outcome("failed") } },
    ...stale,
    handle: async ({ client, params: { task: id }, body: { token: of, error, retryable } }) => {
      await client.tasks.fail({ id, token: of }, errorFrom(error), retryable === undefined ? {} : { retryable })
      return ok({ id, status: "failed" })
    },
  }),
]
