import type { BatchResult, InstanceDescription, ListFilter } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import { batchErrors, startEachOnce } from "../../dialects/cloudflare-workflows/instance-batch.ts"
import { deleteInstance, restartInstance, terminateInstance } from "../../dialects/cloudflare-workflows/instance-calls.ts"
import { checkCreatableId, isCreatableId, nativeId, shortId } from "../../dialects/cloudflare-workflows/instance-id.ts"
import { nativeStatusesOf, statusName } from "../../dialects/cloudflare-workflows/instance-status.ts"
import { alreadyExists, refused } from "../../dialects/cloudflare-workflows/workflow-errors.ts"
import { type Answer, type Call, maybe, noContent, ok, type RequestBody, required, type Route } from "../route-definition.ts"
import { filters, itemError, newInstance, order, paging, start, startOptions } from "../routes/instances.ts"
import { boolean, type Fields, type Infer, type InferFields, integer, list, object, oneOf, optional, type Schema, string } from "../schema.ts"
import * as shown from "./cloudflare-documents.ts"

/** What `?dialect=cloudflare` changes at each route: ids, statuses, and the calls that do something else at Cloudflare Workflows. */

export interface DialectRoute {
  /** The name of the route. */
  readonly name: string
  readonly changes: (route: Route) => Pick<Route, "query" | "body" | "handle"> & { readonly answers?: Route["answers"] }
}

type Params = "workflow" | "id"

interface Changes<Query extends Fields, Body> {
  readonly query?: Query
  readonly body?: RequestBody & { readonly schema: Schema<Body> }
  /** The answer of status 200, in place of the route's. */
  readonly answer?: Schema<unknown>
  readonly handle: (call: Call<Params, Query, Body>) => Promise<Answer>
}

function changed<Query extends Fields = Record<never, never>, Body = undefined>(
  name: string,
  { query, body, answer, handle }: Changes<Query, Body>,
  status: readonly number[] = [200],
): DialectRoute {
  return {
    name,
    changes: (route) => ({
      handle: handle as unknown as Route["handle"],
      ...(query && { query }),
      ...(body && { body }),
      ...(answer && {
        answers: { ...route.answers, ...Object.fromEntries(status.map((one) => [one, { description: "the same", ...route.answers[one], schema: answer }])) },
      }),
    }),
  }
}

/** The route's own answer, in which the instance has its short id. */
function renamed(name: string, answer?: Schema<unknown>): DialectRoute {
  return {
    name,
    changes: (route) => ({
      ...(answer && { answers: { 200: { ...route.answers[200]!, schema: answer } } }),
      handle: async (call) => {
        const given = (await route.handle(call)) as Answer
        const value = given.value as { readonly id: string; readonly status?: InstanceDescription["status"] }
        const workflow = call.params["workflow"] ?? ""
        return {
          ...given,
          value: { ...value, id: shortId(workflow, value.id), ...(answer && value.status && { status: statusName({ status: value.status }) }) },
        }
      },
    }),
  }
}

const unchanged = (name: string): DialectRoute => ({ name, changes: ({ handle, query, body }) => ({ handle, ...(query && { query }), ...(body && { body }) }) })

const newBody = object(newInstance, "NewInstanceOfWorkflow")
type NewInstance = Infer<typeof newBody>
const reason = optional(string())
const { status: _, ...otherFilters } = filters
/** An instance that is `waitingForPause` or `rollingBack` is found under the word that it had before. */
const listable = oneOf(["queued", "running", "paused", "errored", "terminated", "complete", "waiting"])
const from = object({ name: string(), count: optional(integer({ minimum: 1 })), type: optional(oneOf(["do", "sleep", "waitForEvent"])) })

/** An id that is in use is reported as Cloudflare Workflows does. */
async function withShortId<T>(id: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw PerdureError.is(error, "ID_EXISTS") ? alreadyExists(id) : error
  }
}

async function create({ client, params: { workflow }, body }: Call<Params, Fields, NewInstance | undefined>): Promise<Answer> {
  const { id = crypto.randomUUID(), payload = {}, ...rest } = body ?? {}
  checkCreatableId(id)
  const { status, value } = await withShortId(id, () => start(client, workflow, { ...rest, payload, id: nativeId(workflow, id) }))
  return { status, value: { id, type: workflow, status: statusName(value as Pick<InstanceDescription, "status">) } }
}

async function createBatch({ client, settings, params: { workflow }, body: { instances } }: Call<Params, Fields, { instances: readonly NewInstance[] }>) {
  const wanted = instances.map((instance) => ({ payload: {}, ...instance, id: instance.id ?? crypto.randomUUID() }))
  if (!wanted.every(({ id }) => isCreatableId(id))) throw refused("instance.invalid_id", "Instance ID is invalid")
  const items = wanted.map((instance) => ({ workflow, ...startOptions(instance), id: nativeId(workflow, instance.id) }))
  const results = await startEachOnce(client, items)
  const errorOf = (result: BatchResult | "twice"): object | undefined => {
    if (result === "twice") return batchErrors.twice
    if (result.created) return undefined
    if (result.error.code === "ID_EXISTS") return batchErrors.exists
    return { ...itemError(result.error, settings.log), code: batchErrors.internal.code }
  }
  return ok({
    instances: results.map((result, index) => {
      const error = errorOf(result)
      return { id: wanted[index]!.id, created: error === undefined, ...(error && { error }) }
    }),
  })
}

async function listInstances({ client, params: { workflow }, query }: Call<"workflow", typeof listQuery, undefined>): Promise<Answer> {
  const { status, idPrefix, dialect: _dialect, ...rest } = query as InferFields<typeof listQuery> & { readonly dialect?: string }
  const { instances, cursor } = await client.list({
    ...(rest as ListFilter),
    workflow,
    ...(status && { status: status.flatMap(nativeStatusesOf) }),
    ...(idPrefix !== undefined && { idPrefix: nativeId(workflow, idPrefix) }),
  })
  return ok({
    type: workflow,
    instances: instances.map(shown.shownSummary),
    ...(cursor === undefined ? undefined : { cursor }),
    hasNextPage: cursor !== undefined,
  })
}

const listQuery = { ...otherFilters, status: optional(list(listable)), ...paging, order }

export const cloudflareRoutes: readonly DialectRoute[] = [
  changed("listInstancesOfWorkflow", {
    query: listQuery,
    answer: object({ type: string(), instances: list(shown.summary), cursor: optional(string()), hasNextPage: boolean() }),
    handle: listInstances,
  }),
  changed("startInstanceOfWorkflow", { body: maybe(newBody), answer: shown.started, handle: create }, [200, 201]),
  changed("startBatchOfWorkflow", {
    body: required(object({ instances: list(newBody, { maxItems: 1_000 }) })),
    answer: object({ instances: list(shown.batchResult) }),
    handle: createBatch,
  }),
  changed("getInstanceOfWorkflow", { answer: shown.description, handle: async ({ describe }) => ok(shown.shownDescription(await describe())) }),
  changed("deleteInstanceOfWorkflow", {
    handle: async ({ client, params: { workflow, id } }) => {
      const { stillListed } = await deleteInstance(client.get(id))
      return stillListed ? { status: 202, value: { id: shortId(workflow, id), stillListed } } : noContent
    },
  }),
  changed("pauseInstanceOfWorkflow", {
    body: maybe(object({ reason })),
    answer: shown.control,
    handle: async ({ client, params: { workflow, id }, body }) => ok(shown.shownControl(workflow, await client.pause(id, body?.reason))),
  }),
  changed("resumeInstanceOfWorkflow", {
    body: maybe(object({ reason })),
    answer: shown.control,
    handle: async ({ client, params: { workflow, id } }) => ok(shown.shownControl(workflow, await client.resume(id))),
  }),
  changed("terminateInstanceOfWorkflow", {
    body: maybe(object({ reason, rollback: optional(boolean()) })),
    answer: shown.control,
    handle: async ({ client, params: { workflow, id }, body = {} }) => ok(shown.shownControl(workflow, await terminateInstance(client.get(id), body))),
  }),
  changed("restartInstanceOfWorkflow", {
    body: maybe(object({ from: optional(from), reason })),
    answer: shown.control,
    handle: async ({ client, params: { workflow, id }, body }) => ok(shown.shownControl(workflow, await restartInstance(client.get(id), body?.from))),
  }),
  renamed("cancelInstanceOfWorkflow", shown.control),
  forked(),
  unchanged("getHistoryOfWorkflow"),
  renamed("sendEventOfWorkflow"),
  unchanged("tick"),
]

/** The fork gets a short id as well. */
function forked(): DialectRoute {
  const { changes, name } = renamed("forkInstanceOfWorkflow", object({ id: string(), status: shown.status }))
  return {
    name,
    changes: (route) => {
      const inner = changes(route)
      return {
        ...inner,
        handle: (call) => {
          const body = (call.body ?? {}) as { readonly id?: string }
          const { id = crypto.randomUUID() } = body
          checkCreatableId(id)
          return withShortId(id, async () => inner.handle({ ...call, body: { ...body, id: nativeId(call.params["workflow"] ?? "", id) } }))
        },
      }
    },
  }
}
