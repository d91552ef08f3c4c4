import type { LimitSettings, WorkflowLimitReport } from "../../client-api/limit-control.ts"
import { noContent, ok, required, route, type Route } from "../route-definition.ts"
import { type Infer, list, object } from "../schema.ts"
import { limitReport, limitSettings } from "../response-schemas.ts"

const reportOf = (type: string, report: WorkflowLimitReport) => ({ type, ...report })

/** JSON has no Infinity, so it is a text there. */
const limitOf = (limit: number | "Infinity"): number => (limit === "Infinity" ? Infinity : limit)

function concurrencyOf(given: NonNullable<Infer<typeof limitSettings>["concurrency"]>): LimitSettings["concurrency"] {
  if (Array.isArray(given)) return given.map((one: number | "Infinity" | null) => (one === null ? undefined : limitOf(one)))
  if (typeof given !== "object") return limitOf(given)
  return Object.fromEntries(Object.entries(given as Readonly<Record<string, number | "Infinity">>).map(([name, one]) => [name, limitOf(one)]))
}

function settingsOf({ concurrency, rateLimit }: Infer<typeof limitSettings>): LimitSettings {
  return {
    ...(concurrency === undefined ? undefined : { concurrency: concurrencyOf(concurrency) }),
    ...(rateLimit === undefined ? undefined : { rateLimit: { ...rateLimit, limit: limitOf(rateLimit.limit) } }),
  } as LimitSettings
}

export const limitRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/limits",
    name: "listLimits",
    summary: "The limits of all workflows",
    tag: "limits",
    actions: ["read"],
    answers: { 200: { description: "the limits of each workflow", schema: object({ limits: list(limitReport) }) } },
    handle: async ({ client }) => {
      const workflows = await client.workflows()
      return ok({ limits: await Promise.all(workflows.map(async ({ name }) => reportOf(name, await client.limits.get(name)))) })
    },
  }),
  route({
    method: "GET",
    path: "/limits/:workflow",
    name: "getLimits",
    summary: "The limits of a workflow: the current ones, and those of its code",
    tag: "limits",
    actions: ["read"],
    answers: { 200: { description: "the limits", schema: limitReport } },
    handle: async ({ client, params: { workflow } }) => ok(reportOf(workflow, await client.limits.get(workflow))),
  }),
  route({
    method: "PUT",
    path: "/limits/:workflow",
    name: "setLimits",
    summary: "Change the limits of a workflow at run time",
    tag: "limits",
    actions: ["manage"],
    body: required(limitSettings),
    answers: { 200: { description: "the changed limits", schema: limitReport } },
    errors: [400, 404],
    handle: async ({ client, params: { workflow }, body }) => {
      await client.limits.set(workflow, settingsOf(body))
      return ok(reportOf(workflow, await client.limits.get(workflow)))
    },
  }),
  route({
    method: "DELETE",
    path: "/limits/:workflow",
    name: "resetLimits",
    summary: "Reset the limits of a workflow to those of its code",
    tag: "limits",
    actions: ["manage"],
    answers: { 204: { description: "the limits are reset" } },
    errors: [404],
    handle: async ({ client, params: { workflow } }) => {
      await client.limits.reset(workflow)
      return noContent
    },
  }),
]
