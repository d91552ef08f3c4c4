import { isCodeError } from "../../core/execution/workflow-code-error.ts"
import { PerdureError } from "../../core/errors.ts"
import type { EventMap } from "../../core/workflow/workflow.ts"
import { durationMs, type Duration } from "../../core/time/duration.ts"
import { withinTime } from "../combined-signal.ts"
import { duration, status } from "../response-schemas.ts"
import type { Client, Handle, SendOrStartOptions } from "../../client-api/client-api.ts"
import { statusOfCode } from "../status-codes.ts"
import { type Answer, type Call, maybe, ok, okValue, required, route, type Route } from "../route-definition.ts"
import { anything, type Fields, type InferFields, object, oneOf, optional, string } from "../schema.ts"
import { answerFailure } from "../error-response.ts"
import { newInstance, startOptions } from "./instances.ts"

/** Events, queries and updates, which are sent to instances. */

const delivered = object({ id: string(), event: string(), status: oneOf(["delivered"]) }, "DeliveredEvent")
const eventIdQuery = { eventId: optional(string({ description: "an event sent twice with the same id is received once" })) }
const eventIdHeader = { "Event-Id": "the same as the query parameter eventId" }

type EventCall = Pick<Call<string, Fields, unknown>, "request"> & { readonly query: InferFields<typeof eventIdQuery> }

function eventIdOf({ query, request }: EventCall): string | undefined {
  return query.eventId ?? request.headers.get("Event-Id") ?? request.headers.get("eventId") ?? undefined
}

async function send(handle: Handle, event: string, payload: unknown, eventId: string | undefined): Promise<Answer> {
  await handle.sendEvent(event, payload, eventId === undefined ? {} : { eventId })
  return ok({ id: handle.id, event, status: "delivered" })
}

/** An array is the list of arguments. Another value is the only argument. */
const argumentList = maybe(anything(), "the arguments as an array; another value is the only argument")
const argumentsOf = (body: unknown): readonly unknown[] => (body === undefined ? [] : Array.isArray(body) ? (body as readonly unknown[]) : [body])

/** A paused instance answers an update when it is resumed, so the wait is limited. */
async function updateWithin(client: Client, id: string, update: () => Promise<unknown>, { query, settings, request }: WaitCall): Promise<Answer> {
  const waitMs = Math.min(query.wait === undefined ? Infinity : durationMs(query.wait as Duration, "wait"), settings.resultWaitMsMax)
  const answer = await withinTime(update().then(okValue), waitMs, [request.signal, settings.signal])
  return answer ?? { status: 202, value: { id, status: await client.get(id).status() } }
}

interface WaitCall extends Pick<Call<string, Fields, unknown>, "request" | "settings"> {
  readonly query: { readonly wait?: number | string }
}

/** An error of the workflow's handler becomes HANDLER_FAILED. Other errors keep their code. */
async function ask(question: Promise<Answer>): Promise<Answer> {
  try {
    return await question
  } catch (error) {
    const status = PerdureError.is(error) ? statusOfCode[error.code] : isCodeError(error) ? 422 : 500
    if (status === 422 || (status >= 500 && isCodeError(error))) return answerFailure(422, "HANDLER_FAILED", error)
    throw error
  }
}

const { id: _, ifExists: __, delay: ___, startAt: ____, requestId: _____, ...startFields } = newInstance
const sendOrStartBody = object({
  payload: optional(anything("the payload of the event")),
  eventId: optional(string()),
  start: object({ type: string(), ...startFields }),
})

const sent = { tag: "events", answers: { 200: { description: "the event is durable", schema: delivered } }, errors: [400, 404, 409, 413] }
const asked = {
  tag: "queries and updates",
  method: "POST",
  body: argumentList,
  answers: { 200: { description: "the answer", schema: anything() } },
  errors: [400, 404, 406, 409, 413, 422, 503],
} as const

export const eventRoutes: readonly Route[] = [
  route({
    ...sent,
    method: "POST",
    path: "/workflows/:id/events/:event",
    name: "sendEvent",
    summary: "Send an event; its payload is the body",
    actions: ["sendEvent"],
    query: eventIdQuery,
    headers: eventIdHeader,
    body: maybe(anything("the payload")),
    handle: ({ client, params: { id, event }, body, ...call }) => send(client.get(id), event, body, eventIdOf(call)),
  }),
  route({
    ...sent,
    method: "PUT",
    path: "/workflows/:id/events/:event",
    name: "sendOrStart",
    summary: "Send an event to an instance; if there is none, start it in the same transaction",
    actions: ["create", "sendEvent"],
    query: eventIdQuery,
    headers: eventIdHeader,
    body: required(sendOrStartBody),
    workflowsOf: ({ start }) => [start.type],
    handle: async ({
      client,
      params: { id, event },
      body: {
        payload,
        start: { type, ...start },
        eventId: given,
      },
      ...call
    }) => {
      const eventId = given ?? eventIdOf(call)
      const options = { ...startOptions(start), id, event, payload, ...(eventId === undefined ? undefined : { eventId }) }
      await client.sendOrStart(type, options as SendOrStartOptions<unknown, EventMap, string>)
      return ok({ id, event, status: "delivered" })
    },
  }),
  route({
    ...asked,
    path: "/workflows/:id/queries/:query",
    name: "queryInstance",
    summary: "Ask a query of the code of the instance",
    actions: ["query"],
    handle: ({ client, params: { id, query }, body }) => ask(client.query(id, query, ...argumentsOf(body)).then(okValue)),
  }),
  route({
    ...asked,
    path: "/workflows/:id/updates/:update",
    name: "updateInstance",
    summary: "Send an update to the code of the instance: it is durable and answered once",
    actions: ["update"],
    query: { wait: optional(duration) },
    answers: { ...asked.answers, 202: { description: "the update is durable, but not answered yet", schema: object({ id: string(), status }) } },
    handle: ({ client, params: { id, update }, body, ...call }) => ask(updateWithin(client, id, () => client.update(id, update, ...argumentsOf(body)), call)),
  }),
]

export const eventsOfWorkflow: readonly Route[] = [
  route({
    ...sent,
    method: "POST",
    path: "/workflows/:workflow/instances/:id/events",
    name: "sendEventOfWorkflow",
    summary: "Send an event",
    tag: "instances of a workflow",
    actions: ["sendEvent"],
    query: eventIdQuery,
    headers: eventIdHeader,
    body: required(object({ type: string({ description: "the type of the event" }), payload: optional(anything()), eventId: optional(string()) })),
    handle: ({ client, params: { id }, body: { type, payload, eventId }, ...call }) => send(client.get(id), type, payload, eventId ?? eventIdOf(call)),
  }),
]
