import {
  abortSignal,
  type Argument,
  anything,
  badOption,
  duration,
  each,
  fields,
  flag,
  id,
  list,
  maybe,
  type Methods,
  nameOf,
  nullable,
  number,
  queue,
  record,
  requestId,
  tags,
  takes,
  type Takes,
  text,
  time,
  whole,
  word,
  workflow,
} from "./argument.ts"
import { PerdureError } from "../errors.ts"
import { isList } from "../workflow/input-limits.ts"
import { overlaps } from "../time/schedule.ts"
import { statuses } from "../journal/status.ts"

/** The arguments of each method of a client. All clients use this table. The engine and the store check what only they can know. */

const orders = ["newest", "oldest"]

const startFields = {
  id: maybe(id),
  version: maybe(text),
  allowUnknown: maybe(flag),
  ifExists: maybe(word(["error", "return"])),
  delay: maybe(duration),
  startAt: maybe(time),
  timeout: maybe(duration),
  priority: maybe(number),
  tags: maybe(tags),
  taskQueue: maybe(queue),
  retention: maybe(fields({ completed: maybe(duration), failed: maybe(duration) })),
  requestId: maybe(requestId),
  input: anything,
  transaction: anything,
}
const start = fields(startFields)
const item = fields({ ...startFields, workflow })
const filterFields = {
  workflow: maybe(text),
  version: maybe(text),
  status: maybe((value, name) => (typeof value === "string" ? word(statuses)(value, name) : each(word(statuses))(value, name))),
  tag: maybe(text),
  queue: maybe(text),
  since: maybe(time),
  until: maybe(time),
  idPrefix: maybe(text),
}
const paging = { limit: maybe(whole(1, 1_000)), cursor: maybe(text) }
const reason = maybe(text)
const terminate = fields({ reason, rollback: maybe(flag) })
const termination: Argument = (value, name) => (typeof value === "string" ? value : terminate(value, name))
const restart = fields({ from: maybe(text) })
const fork = fields({ id, from: maybe(text), input: anything, requestId: maybe(requestId) })

const handleOf: Takes = ([first, second]) => (typeof first === "string" ? [id(first, "id")] : [workflow(first, "workflow"), id(second, "id")])

export const clientArguments = {
  start: takes({ workflow, options: start }),
  startBatch: takes({ items: (value, name) => list(value, name).map(itemOf), options: fields({ transaction: anything }) }),
  sendOrStart: takes({ workflow, options: fields({ ...startFields, id, event: nameOf("event type"), payload: anything, eventId: maybe(text) }) }),
  list: takes({ filter: fields({ ...filterFields, ...paging, order: maybe(word(orders)) }) }),
  count: takes({ filter: fields(filterFields), by: word(["status", "workflow"]) }),
  describe: takes({ id }),
  why: takes({ id }),
  pause: takes({ id, reason }),
  resume: takes({ id }),
  cancel: takes({ id, reason }),
  terminate: takes({ id, options: maybe(termination) }),
  restart: takes({ id, options: restart }),
  fork: takes({ id, options: fork }),
  query: takes({ id, name: nameOf("query name") }),
  update: takes({ id, name: nameOf("update name") }),
  delete: takes({ id }),
} satisfies Methods

const following = { changes: takes({ cursor: maybe(text) }) }
export const otherClientArguments = { atOnce: { get: handleOf }, following }

const sending = takes({ type: nameOf("event type"), payload: anything, options: fields({ eventId: maybe(text), transaction: anything }) })

const result = fields({ timeout: maybe(duration), rejectWhenStalled: maybe(flag), signal: maybe(abortSignal) })

/** The arguments of the methods that only an engine has. */
export const engineArguments = { result: takes({ id, options: result }), tick: takes({ options: fields({}) }) } satisfies Methods

export const handleArguments = {
  result: takes({ options: result }),
  history: takes({ options: fields({ ...paging, run: maybe(whole(1)), order: maybe(word(orders)) }) }),
  sendEvent: sending,
  signal: sending,
  pause: takes({ reason }),
  cancel: takes({ reason }),
  terminate: takes({ options: maybe(termination) }),
  restart: takes({ options: restart }),
  fork: takes({ options: fork }),
  query: takes({ name: nameOf("query name") }),
  update: takes({ name: nameOf("update name") }),
} satisfies Methods

export const otherHandleArguments = { following }

const limits: Argument = (value, name) => {
  if (typeof value === "number") return number(value, name)
  if (isList(value)) return each(maybe(number))(value, name)
  return Object.fromEntries(Object.entries(record(value, name)).map(([key, one]) => [key, maybe(number)(one, `${name}.${key}`)]))
}

export const limitArguments = {
  set: takes({ workflow, limits: fields({ concurrency: maybe(limits), rateLimit: maybe(fields({ limit: number, per: duration })) }) }),
  get: takes({ workflow }),
  reset: takes({ workflow }),
} satisfies Methods

const activityNames: Argument = (value, name) => {
  const names = each(nameOf("activity name"))(value, name) as readonly string[]
  if (names.length > 0) return names
  throw badOption(name, value, 'the names of the activities that the worker has, such as ["reserve"]')
}
const task = fields({ id, token: nameOf("token") })

export const taskArguments = {
  claim: takes({
    queue,
    options: fields({ worker: nameOf("worker name"), activities: activityNames, max: maybe(whole(1, 100)), wait: maybe(duration), signal: maybe(abortSignal) }),
  }),
  heartbeat: takes({ task, options: fields({ details: anything, renew: maybe(flag) }) }),
  complete: takes({ task, result: anything }),
  fail: takes({ task, error: anything, options: fields({ retryable: maybe(flag) }) }),
} satisfies Methods

const scheduleFields = {
  cron: maybe(text),
  timeZone: maybe(text),
  every: maybe(duration),
  overlap: maybe(word(overlaps)),
  tags: maybe(tags),
}
const dropped = { catchUp: nullable(duration), timeout: nullable(duration), taskQueue: nullable(queue), startAt: nullable(time), endAt: nullable(time) }

export const scheduleArguments = {
  create: takes({
    id,
    options: fields({ ...scheduleFields, ...dropped, input: anything, workflow, paused: maybe(flag), ifExists: maybe(word(["error", "update"])) }),
  }),
  list: takes({ filter: fields({ ...paging, workflow: maybe(text) }) }),
} satisfies Methods

export const otherScheduleArguments = { atOnce: { get: handleOf } }

export const scheduleHandleArguments = {
  update: takes({ changes: fields({ ...scheduleFields, ...dropped, input: anything }) }),
  pause: takes({ reason }),
  trigger: takes({ options: fields({ input: anything }) }),
  backfill: takes({ options: fields({ from: time, to: time, overlap: maybe(word(["allow", "queue"])) }) }),
} satisfies Methods

/** An item of a batch with invalid arguments, and its error. The other items are started all the same. */
class RefusedItem {
  readonly id: string
  readonly error: PerdureError

  constructor(id: string, error: PerdureError) {
    this.id = id
    this.error = error
  }
}

function itemOf(value: unknown, at: number): unknown {
  try {
    return item(value, `items[${at}]`)
  } catch (error) {
    if (!PerdureError.is(error)) throw error
    return new RefusedItem(givenId(value), error)
  }
}

function givenId(value: unknown): string {
  try {
    return text((value as { readonly id?: unknown }).id, "id") as string
  } catch {
    return ""
  }
}

/** Starts the items with valid arguments. The results are in the order of the items. */
export async function startValidItems<Item, Result>(
  items: readonly Item[],
  start: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly (Result | { readonly id: string; readonly created: false; readonly error: PerdureError })[]> {
  const results = (await start(items.filter((item) => !(item instanceof RefusedItem)))).values()
  return items.map((item) => (item instanceof RefusedItem ? { id: item.id, created: false, error: item.error } : (results.next().value as Result)))
}
