import { PerdureError } from "../../core/errors.ts"
import type { BatchItem, Client, ListFilter, ListPage, StartOptions } from "../../client-api/client-api.ts"
import { publicError } from "../error-response.ts"
import type { HttpSettings } from "../settings.ts"
import { type Answer, created, maybe, noContent, ok, required, route, type Route } from "../route-definition.ts"
import { anything, boolean, type InferFields, integer, list, number, object, oneOf, optional, record, type Schema, string } from "../schema.ts"
import { batchResult, description, descriptionOf, duration, instant, started, status, summary, summaryOf } from "../response-schemas.ts"

/** Starts, lists, counts, describes and deletes instances. */

const startFields = {
  version: optional(string({ description: "default: the version that was registered last" })),
  allowUnknown: optional(boolean({ description: "accept a version that no process knows yet: the instance waits for a worker that has it" })),
  ifExists: optional(oneOf(["error", "return"])),
  delay: optional(duration),
  startAt: optional(instant),
  timeout: optional(duration),
  priority: optional(number()),
  tags: optional(list(string())),
  requestId: optional(string({ description: "a random text that identifies this start: a repeated request is the same start" })),
  taskQueue: optional(string()),
  retention: optional(object({ completed: optional(duration), failed: optional(duration) })),
}
const payload = optional(anything("the input"))
export const newInstance = { id: optional(string()), payload, ...startFields } satisfies Record<
  Exclude<keyof StartOptions<unknown>, "input" | "transaction"> | "payload",
  Schema<unknown>
>
const startBody = object({ type: string({ description: "the name of the workflow" }), ...newInstance }, "NewInstance")
const startOfWorkflow = object(newInstance, "NewInstanceOfWorkflow")

export const filters = {
  status: optional(list(status)),
  tag: optional(string()),
  queue: optional(string()),
  version: optional(string()),
  since: optional(instant),
  until: optional(instant),
  idPrefix: optional(string()),
} satisfies Record<Exclude<keyof ListFilter, "workflow" | "limit" | "cursor" | "order">, Schema<unknown>>
export const paging = { limit: optional(integer({ minimum: 1, maximum: 1_000 })), cursor: optional(string()) }
export const order = optional(oneOf(["newest", "oldest"]))
const page = { type: string(), instances: list(summary), cursor: optional(string()), hasNextPage: boolean() }

/** The options of a start, out of a body. */
export function startOptions({ payload: input, ...options }: InferFields<typeof newInstance>): StartOptions<unknown> {
  return { ...(options as StartOptions<unknown>), ...(input === undefined ? undefined : { input }) }
}

export async function start(client: Client, type: string, body: InferFields<typeof newInstance>): Promise<Answer> {
  if (body.ifExists === "return") return startOrGet(client, type, body)
  const handle = await client.start(type, startOptions(body))
  return created({ id: handle.id, type, status: await handle.status() })
}

/** Answers 201 for an instance that this start created, and 200 for an existing one. The request id becomes the incarnation of a created instance. */
async function startOrGet(client: Client, type: string, body: InferFields<typeof newInstance>): Promise<Answer> {
  const requestId = body.requestId ?? crypto.randomUUID()
  const handle = await client.start(type, { ...startOptions(body), requestId })
  const { status: now, incarnation } = await handle.describe()
  return (incarnation === requestId ? created : ok)({ id: handle.id, type, status: now })
}

async function startAll(client: Client, items: readonly BatchItem[], log: HttpSettings["log"]): Promise<Answer> {
  const results = await client.startBatch(items)
  return ok({
    instances: results.map((result) => (result.created ? result : { ...result, error: itemError(result.error, log) })),
  })
}

export function itemError(error: PerdureError, log: HttpSettings["log"]): object {
  const id = crypto.randomUUID()
  const { status, error: shown } = publicError(error, () => id)
  if (status >= 500) log.error(`an item of a batch failed (${id})`, { id, error })
  return shown
}

type Filters = InferFields<typeof filters & typeof paging & { readonly order: typeof order }>

function listOf(client: Client, workflow: string | undefined, query: Filters): Promise<ListPage> {
  return client.list({ ...(query as ListFilter), ...(workflow === undefined ? undefined : { workflow }) })
}

async function pageOf(client: Client, type: string, query: Filters): Promise<object> {
  const { instances, cursor } = await listOf(client, type, query)
  return { type, instances: instances.map(summaryOf), ...(cursor === undefined ? undefined : { cursor }), hasNextPage: cursor !== undefined }
}

const startAnswers = {
  200: { description: "`ifExists` is `return`, and the instance existed", schema: started },
  201: { description: "the instance is durable", schema: started },
}

const batchMax = 1_000
const batchErrors = [400, 413]

export const instanceRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/workflows",
    name: "listWorkflows",
    summary: "The instances of a workflow, newest first; without `type` the workflows, each with its newest instances",
    tag: "instances",
    actions: ["read"],
    query: { type: optional(string()), ...filters, limit: optional(integer({ minimum: 0, maximum: 1_000 })), cursor: optional(string()), order },
    answers: {
      200: {
        description: "a page of instances, or the workflows",
        schema: object({
          type: optional(string()),
          instances: optional(list(summary)),
          cursor: optional(string()),
          hasNextPage: optional(boolean()),
          workflows: optional(
            list(object({ name: string(), type: string(), version: string(), versions: list(string()), instances: list(summary), hasNextPage: boolean() })),
          ),
        }),
      },
    },
    errors: [400],
    handle: async ({ client, query: { type, ...query } }) => {
      if (type !== undefined) return ok(await pageOf(client, type, query))
      if (query.cursor !== undefined) throw new PerdureError("BAD_OPTION", "a cursor continues the list of one workflow; give its `type`, too")
      const workflows = await client.workflows()
      const pages = query.limit === 0 ? [] : await Promise.all(workflows.map(({ name }) => listOf(client, name, query)))
      return ok({
        workflows: workflows.map(({ name, version, versions }, index) => ({
          name,
          type: name,
          version,
          versions,
          instances: (pages[index]?.instances ?? []).map(summaryOf),
          hasNextPage: pages[index]?.cursor !== undefined,
        })),
      })
    },
  }),
  route({
    method: "GET",
    path: "/instances",
    name: "listInstances",
    summary: "The instances of all workflows",
    tag: "instances",
    actions: ["read"],
    query: { workflow: optional(string()), ...filters, ...paging, order },
    answers: { 200: { description: "a page of instances", schema: object({ instances: list(summary), cursor: optional(string()) }) } },
    errors: [400],
    handle: async ({ client, query: { workflow, ...query } }) => {
      const { instances, cursor } = await listOf(client, workflow, query)
      return ok({ instances: instances.map(summaryOf), ...(cursor === undefined ? undefined : { cursor }) })
    },
  }),
  route({
    method: "GET",
    path: "/workflows/counts",
    name: "countInstances",
    summary: "Count instances by status and by workflow",
    tag: "instances",
    actions: ["read"],
    query: { type: optional(string()), workflow: optional(string()), ...filters },
    answers: {
      200: {
        description: "the counts; zero is omitted",
        schema: object({ byStatus: record(integer()), byWorkflow: record(integer()), total: integer() }),
      },
    },
    errors: [400],
    handle: async ({ client, query: { type, workflow = type, ...query } }) => {
      const filter = { ...(query as ListFilter), ...(workflow === undefined ? undefined : { workflow }) }
      const [byStatus, byWorkflow] = await Promise.all([client.count(filter, "status"), client.count(filter, "workflow")])
      return ok({ byStatus, byWorkflow, total: Object.values(byStatus).reduce((sum, count) => sum + count, 0) })
    },
  }),
  route({
    method: "POST",
    path: "/workflows",
    name: "startInstance",
    summary: "Start an instance",
    tag: "instances",
    actions: ["create"],
    body: required(startBody),
    workflowsOf: ({ type }) => [type],
    answers: startAnswers,
    errors: [400, 409, 413],
    handle: ({ client, body: { type, ...body } }) => start(client, type, body),
  }),
  route({
    method: "POST",
    path: "/workflows/batch",
    name: "startBatch",
    summary: "Start up to 1,000 instances, each on its own",
    tag: "instances",
    actions: ["create"],
    body: required(object({ instances: list(startBody, { maxItems: batchMax }) })),
    workflowsOf: ({ instances }) => instances.map(({ type }) => type),
    answers: { 200: { description: "for each instance, whether it was created, or why not", schema: object({ instances: list(batchResult) }) } },
    errors: batchErrors,
    handle: ({ client, settings, body: { instances } }) =>
      startAll(
        client,
        instances.map(({ type, ...body }) => ({ workflow: type, ...startOptions(body) })),
        settings.log,
      ),
  }),
  route({
    method: "GET",
    path: "/workflows/:id",
    name: "getInstance",
    summary: "An instance with its steps",
    tag: "instances",
    actions: ["read"],
    answers: { 200: { description: "the instance", schema: description } },
    errors: [404],
    handle: async ({ describe }) => ok(descriptionOf(await describe())),
  }),
  route({
    method: "DELETE",
    path: "/workflows/:id",
    name: "deleteInstance",
    summary: "Delete an instance that has ended",
    tag: "instances",
    actions: ["delete"],
    answers: {
      204: { description: "the instance is deleted" },
      202: {
        description: "the instance is deleted; the index did not answer, and lists may show the instance until it does",
        schema: object({ id: string(), stillListed: boolean() }),
      },
    },
    errors: [404, 409],
    handle: async ({ client, params: { id } }) => {
      const { stillListed } = await client.delete(id)
      return stillListed ? { status: 202, value: { id, stillListed } } : noContent
    },
  }),
]

export const instancesOfWorkflow: readonly Route[] = [
  route({
    method: "GET",
    path: "/workflows/:workflow/instances",
    name: "listInstancesOfWorkflow",
    summary: "The instances of a workflow",
    tag: "instances of a workflow",
    actions: ["read"],
    query: { ...filters, ...paging, order },
    answers: { 200: { description: "a page of instances", schema: object(page) } },
    errors: [400],
    handle: async ({ client, params: { workflow }, query }) => ok(await pageOf(client, workflow, query)),
  }),
  route({
    method: "POST",
    path: "/workflows/:workflow/instances",
    name: "startInstanceOfWorkflow",
    summary: "Start an instance of the workflow",
    tag: "instances of a workflow",
    actions: ["create"],
    body: maybe(startOfWorkflow),
    answers: startAnswers,
    errors: [400, 409, 413],
    handle: ({ client, params: { workflow }, body }) => start(client, workflow, body ?? {}),
  }),
  route({
    method: "POST",
    path: "/workflows/:workflow/instances/batch",
    name: "startBatchOfWorkflow",
    summary: "Start up to 1,000 instances of the workflow, each on its own",
    tag: "instances of a workflow",
    actions: ["create"],
    body: required(object({ instances: list(startOfWorkflow, { maxItems: batchMax }) })),
    answers: { 200: { description: "for each instance, whether it was created, or why not", schema: object({ instances: list(batchResult) }) } },
    errors: batchErrors,
    handle: ({ client, settings, params: { workflow }, body: { instances } }) =>
      startAll(
        client,
        instances.map((body) => ({ workflow, ...startOptions(body) })),
        settings.log,
      ),
  }),
]
