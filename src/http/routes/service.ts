import { PerdureError } from "../../core/errors.ts"
import { maybe, ok, route, type Route } from "../route-definition.ts"
import { anything, boolean, integer, list, object, oneOf, optional, record, string } from "../schema.ts"

/** Routes about the server itself. */

const alive = object({ status: oneOf(["ok"]) })

export const serviceRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/",
    name: "getStatus",
    summary: "The status of the server, and the workflows that it knows",
    tag: "service",
    actions: ["read"],
    answers: { 200: { description: "the server answers", schema: object({ status: oneOf(["ok"]), workflows: list(string()) }) } },
    handle: async ({ client }) => ok({ status: "ok", workflows: (await client.workflows()).map(({ name }) => name) }),
  }),
  route({
    method: "GET",
    path: "/healthz",
    name: "getHealth",
    summary: "Whether the process answers",
    tag: "service",
    actions: [],
    answers: { 200: { description: "the process answers", schema: alive } },
    handle: () => Promise.resolve(ok({ status: "ok" })),
  }),
  route({
    method: "GET",
    path: "/readyz",
    name: "getReadiness",
    summary: "Whether the store can be reached and is migrated",
    tag: "service",
    actions: [],
    answers: { 200: { description: "the store answers", schema: alive } },
    errors: [503],
    handle: async ({ client, settings }) => {
      try {
        await client.list({ limit: 1 })
        return ok({ status: "ok" })
      } catch (error) {
        const id = crypto.randomUUID()
        settings.log.error(`the store cannot be reached (${id})`, { id, error })
        // The route is open to everybody, so only the log says what is wrong.
        return { status: 503, value: { error: { code: "STORE_FAILED", message: "the store cannot be reached; the server's log says why", details: { id } } } }
      }
    },
  }),
  route({
    method: "POST",
    path: "/runner/tick",
    name: "tick",
    summary: "Execute everything that is due now, in an engine that executes in ticks; for a cron job or a queue",
    tag: "service",
    actions: ["tick"],
    body: maybe(object({ maxInstances: optional(integer({ minimum: 1 })), maxSteps: optional(integer({ minimum: 1 })) })),
    answers: {
      200: {
        description: "the number of instances that were executed, when the next one is due (milliseconds since 1970), and whether something is due already",
        schema: object({ processed: integer(), nextDueAt: optional(integer()), more: boolean() }),
      },
    },
    errors: [400, 403],
    handle: async ({ settings: { tick }, body = {} }) => {
      if (!tick) throw new PerdureError("FORBIDDEN", "this server takes no ticks; start it with the option `tick: true`")
      return ok(await tick(body))
    },
  }),
]

/** The document is created at the first request. */
export function documentRoute(document: () => object): Route {
  return route({
    method: "GET",
    path: "/openapi.json",
    name: "getOpenApi",
    summary: "This document",
    tag: "service",
    actions: ["read"],
    answers: { 200: { description: "OpenAPI 3.1", schema: record(anything()) } },
    handle: () => Promise.resolve(ok(document())),
  })
}
