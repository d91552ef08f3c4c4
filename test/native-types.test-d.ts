// What compiles and what does not. Checked by `npm run typecheck`; nothing here runs.

import {
  type Client,
  type Context,
  type Duration,
  type Handle,
  type InstanceDescription,
  type ScheduleDescription,
  type ScheduleHandle,
  type SqlResult,
  type SqlValue,
  type TransactionClient,
  type Workflow,
  workflow,
} from "perdure"
import type { PoolClient } from "pg"
import * as z from "zod"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Takes only a value of exactly that type: one that is wider, or `any`, makes the second argument necessary. */
declare function exactly<Expected>(): <Actual>(value: Actual, ...proof: Equal<Actual, Expected> extends true ? [] : ["is not the expected type"]) => void

declare const engine: Client

// --- workflows typed by their function ---------------------------------------------------------------------------------

const plain = workflow("plain", async (ctx, input: { id: string; count?: number }) => {
  const doubled = await ctx.do("double", () => (input.count ?? 0) * 2)
  exactly<number>()(doubled)
  const text = await ctx.do("text", async ({ attempt, idempotencyKey, signal, step }) => {
    exactly<number>()(attempt)
    exactly<string>()(idempotencyKey)
    exactly<AbortSignal>()(signal)
    return step.do("inner", () => "inner" as const)
  })
  exactly<"inner">()(text)
  // @ts-expect-error a sleep gives nothing
  const _slept: string = await ctx.sleep("nap", "5m")
  // @ts-expect-error "5 parsecs" is no duration
  await ctx.sleep("nap", "5 parsecs")
  // @ts-expect-error a step needs a function
  await ctx.do("nothing")
  // @ts-expect-error there is no such option
  await ctx.do("options", () => 1, { retries: 5 })
  // @ts-expect-error there is no such backoff
  await ctx.do("options", () => 1, { retry: { backoff: "quadratic" } })
  return { doubled, text }
})

// --- transactions -------------------------------------------------------------------------------------------------------

workflow("transactions", async (ctx) => {
  const moved = await ctx.transaction("move", (sql, { attempt, idempotencyKey, signal }) => {
    exactly<number>()(attempt)
    exactly<string>()(idempotencyKey)
    exactly<AbortSignal>()(signal)
    exactly<SqlResult>()(sql.run("UPDATE account SET balance = ?, note = ?, bytes = ?", 5, null, new Uint8Array()))
    exactly<Record<string, SqlValue> | undefined>()(sql.get("SELECT * FROM account"))
    exactly<{ balance: number } | undefined>()(sql.get<{ balance: number }>("SELECT balance FROM account WHERE id = ?", 1n))
    exactly<{ balance: number }[]>()(sql.all<{ balance: number }>("SELECT balance FROM account"))
    // @ts-expect-error a Date is no value of SQL
    sql.run("UPDATE account SET at = ?", new Date())
    // @ts-expect-error neither is undefined
    sql.run("UPDATE account SET at = ?", undefined)
    return { balance: 5, all: ["a"] }
  })
  exactly<{ balance: number; all: string[] }>()(moved)
  exactly<void>()(await ctx.transaction("nothing", () => undefined as void))
  exactly<number | undefined>()(await ctx.transaction("either", (sql) => (sql.get("SELECT 1") ? 1 : undefined), { retry: { maxAttempts: 2 }, timeout: "1s" }))
  // @ts-expect-error a transaction is synchronous
  await ctx.transaction("async", async (sql) => sql.run("DELETE FROM account").changes)
  // @ts-expect-error a transaction is synchronous, also where it gives nothing
  await ctx.transaction("async", async () => {})
  // @ts-expect-error it gives no promise
  await ctx.transaction("promise", () => Promise.resolve(1))
  // @ts-expect-error not even sometimes
  await ctx.transaction("sometimes", (sql) => (sql.get("SELECT 1") ? 1 : Promise.resolve(1)))
  // @ts-expect-error it has no steps inside
  await ctx.transaction("nested", (sql, { step }) => typeof step)
  // @ts-expect-error there is no such option
  await ctx.transaction("options", () => 1, { isolation: "serializable" })
  await ctx.do("outer", async ({ step }) => exactly<number>()(await step.transaction("inner", () => 1)))
  // On PostgreSQL the type of the client says so.
  exactly<number>()(await ctx.transaction("move", async (client: PoolClient, { attempt }) => (await client.query("SELECT 1")).rows.length + attempt))
  exactly<string>()(await ctx.transaction("move", async (client: TransactionClient) => String((await client.query("SELECT $1", [1])).rowCount)))
  exactly<undefined>()(await ctx.transaction("move", async (client: PoolClient) => void (await client.query("SELECT 1")), { retry: { maxAttempts: 2 } }))
  // @ts-expect-error what is awaited must say what it is given
  await ctx.transaction("untyped", async (client) => typeof client)
  // @ts-expect-error it is no client of a database
  await ctx.transaction("other", async (client: { readonly name: string }) => client.name)
})

const plainHandle = await engine.start(plain, { input: { id: "a" } })
exactly<{ doubled: number; text: "inner" }>()(await plainHandle.result())
// @ts-expect-error the result has no such field
void (await plainHandle.result()).tripled
// @ts-expect-error the input is missing
await engine.start(plain)
// @ts-expect-error the input is missing
await engine.start(plain, { id: "i" })
// @ts-expect-error id is a string
await engine.start(plain, { input: { id: 1 } })
// @ts-expect-error there is no such field
await engine.start(plain, { input: { id: "a", colour: "red" } })
// @ts-expect-error "tomorrow" is no duration
await engine.start(plain, { input: { id: "a" }, delay: "tomorrow" })
// @ts-expect-error there is no such choice
await engine.start(plain, { input: { id: "a" }, ifExists: "replace" })
await engine.start(plain, { input: { id: "a", count: 2 }, delay: "1h", startAt: new Date(), tags: ["x"], timeout: 500, ifExists: "return" })

// --- flow control ---------------------------------------------------------------------------------------------------------

interface Order {
  customer: string
  total: number
}

const limited = workflow(
  "limited",
  {
    concurrency: [10, { limit: 2, key: (input) => input.customer, hold: true }],
    rateLimit: { limit: 100, per: "1m", key: (input) => input.customer },
    priority: (input) => (input.total > 1_000 ? 10 : 0),
    debounce: { quiet: "10s", max: "1m", key: (input) => input.customer },
    singleton: { key: (input) => input.customer },
  },
  async (ctx: Context, input: Order) => ctx.do("charge", () => input.total),
)
exactly<number>()(await (await engine.start(limited, { input: { customer: "a", total: 1 }, priority: 5 })).result())
// @ts-expect-error a priority is a number
await engine.start(limited, { input: { customer: "a", total: 1 }, priority: "high" })
workflow("annotated key", { concurrency: { limit: 1, key: (input: Order) => input.customer } }, async (ctx, input) => {
  exactly<Order>()(input)
  return ctx.do("charge", () => input.total)
})
workflow("simple", { concurrency: 5, priority: 3, singleton: true }, async (ctx) => ctx.instance.id)
workflow(
  "by schema",
  {
    input: z.object({ at: z.coerce.date(), region: z.string() }),
    concurrency: {
      limit: 1,
      key: (input) => {
        exactly<{ at: Date; region: string }>()(input)
        return input.region
      },
    },
  },
  async (ctx, input) => ctx.do("visit", () => input.at.getTime()),
)
// @ts-expect-error the input has no such field
workflow("wrong field", { concurrency: { limit: 1, key: (input) => `${input.region}` } }, async (ctx: Context, input: Order) =>
  ctx.do("charge", () => input.total),
)
// @ts-expect-error a key is a string
workflow("wrong key", { concurrency: { limit: 1, key: (input) => input.total } }, async (ctx: Context, input: Order) => ctx.do("charge", () => input.total))
// @ts-expect-error a rate needs a time
workflow("no time", { rateLimit: { limit: 5 } }, async (ctx) => ctx.instance.id)
// @ts-expect-error "soon" is no duration
workflow("no duration", { debounce: { quiet: "soon" } }, async (ctx) => ctx.instance.id)

await engine.limits.set(limited, { concurrency: [undefined, 5], rateLimit: { limit: 1, per: "1s" } })
await engine.limits.set("limited", { concurrency: Infinity })
await engine.limits.reset(limited)
exactly<number | undefined>()((await engine.limits.get(limited)).concurrency[0]?.limit)
// @ts-expect-error there is no such limit
await engine.limits.set(limited, { debounce: "1s" })

// --- no input, optional input, a union as input ---------------------------------------------------------------------------

const bare = workflow("bare", async (ctx) => ctx.instance.id)
await engine.start(bare)
await engine.start(bare, { id: "i" })
// @ts-expect-error the workflow takes no input
await engine.start(bare, { input: 5 })

const optional = workflow("optional", async (_ctx, input?: { n: number }) => input?.n)
await engine.start(optional)
await engine.start(optional, { input: { n: 1 } })
exactly<number | undefined>()(await (await engine.start(optional)).result())
// @ts-expect-error n is a number
await engine.start(optional, { input: { n: "1" } })

const union = workflow("union", async (_ctx, input: "sleep" | "wait") => (input === "sleep" ? (1 as const) : ("two" as const)))
exactly<1 | "two">()(await (await engine.start(union, { input: "sleep" })).result())
// @ts-expect-error "run" is neither
await engine.start(union, { input: "run" })

// --- events typed by the function's context -----------------------------------------------------------------------------

interface Events extends Record<string, unknown> {
  approved: { by: string }
  ping: undefined
}

const typed = workflow("typed", async (ctx: Context<Pick<Events, "approved" | "ping">>) => {
  exactly<void>()(await ctx.condition(() => true, { name: "always" }))
  exactly<boolean>()(await ctx.condition(() => false, { timeout: "1h" }))
  // @ts-expect-error a predicate says yes or no at once
  await ctx.condition(async () => true)
  exactly<{ by: string }>()(await ctx.waitForEvent("approved"))
  exactly<{ by: string } | null>()(await ctx.waitForEvent("approved", { timeout: "1h", default: null }))
  exactly<{ by: string }>()(await ctx.waitForEvent("second approval", { type: "approved" }))
  exactly<{ by: string } | "none">()(await ctx.waitForSignal("second approval", { type: "approved", timeout: 5, default: "none" as const }))
  // @ts-expect-error there is no such event
  await ctx.waitForEvent("rejected")
  // @ts-expect-error there is no such event
  await ctx.waitForEvent("answer", { type: "rejected" })
  await ctx.do("nested", async ({ step }) => {
    exactly<{ by: string }>()(await step.waitForEvent("approved"))
    // @ts-expect-error there is no such event, inside a step neither
    await step.waitForEvent("rejected")
  })
})

const typedHandle = await engine.start(typed)
await typedHandle.sendEvent("approved", { by: "Ada" })
await typedHandle.sendEvent("approved", { by: "Ada" }, { eventId: "e" })
await typedHandle.sendEvent("ping")
await typedHandle.signal("ping", undefined, { eventId: "e" })
// @ts-expect-error there is no such event
await typedHandle.sendEvent("rejected", { by: "Ada" })
// @ts-expect-error by is a string
await typedHandle.sendEvent("approved", { by: 5 })
// @ts-expect-error the payload is missing
await typedHandle.sendEvent("approved")
// @ts-expect-error there is no such event
await typedHandle.signal("rejected")

// --- schemas: what senders give and what the code sees --------------------------------------------------------------------

const order = workflow(
  "order",
  {
    version: "2",
    input: z.object({ id: z.string(), at: z.string().transform((text) => new Date(text)), note: z.string().default("none") }),
    events: { payment: z.object({ amount: z.string().transform(Number) }), cancel: z.undefined() },
    retry: { maxAttempts: 5, initialInterval: "2s" },
  },
  async (ctx, input) => {
    exactly<{ id: string; at: Date; note: string }>()(input)
    exactly<{ amount: number }>()(await ctx.waitForEvent("payment"))
    // @ts-expect-error there is no such event
    await ctx.waitForEvent("refund")
    return input.at
  },
)

const orderHandle = await engine.start(order, { input: { id: "1", at: "2026-01-01" } })
exactly<Date>()(await orderHandle.result())
await orderHandle.sendEvent("payment", { amount: "10" })
await orderHandle.sendEvent("cancel")
// @ts-expect-error senders give text, the code sees the number
await orderHandle.sendEvent("payment", { amount: 10 })
// @ts-expect-error senders give text, the code sees the Date
await engine.start(order, { input: { id: "1", at: new Date() } })
// @ts-expect-error at is missing
await engine.start(order, { input: { id: "1" } })
// @ts-expect-error the input is missing
await engine.start(order)

const inputOnly = workflow("inputOnly", { input: z.number() }, async (ctx, input) => {
  exactly<number>()(input)
  return ctx.waitForEvent("anything")
})
const inputOnlyHandle = await engine.start(inputOnly, { input: 1 })
exactly<unknown>()(await inputOnlyHandle.result())
await inputOnlyHandle.sendEvent("anything", { at: "all" })
// @ts-expect-error the input is a number
await engine.start(inputOnly, { input: "1" })

const eventsOnly = workflow("eventsOnly", { events: { go: z.literal("now") } }, async (ctx, input: number) => [await ctx.waitForEvent("go"), input] as const)
const eventsOnlyHandle = await engine.start(eventsOnly, { input: 1 })
exactly<readonly ["now", number]>()(await eventsOnlyHandle.result())
// @ts-expect-error the payload is "now"
await eventsOnlyHandle.sendEvent("go", "later")
// @ts-expect-error the input is missing
await engine.start(eventsOnly)

// @ts-expect-error a schema is not a plain object
workflow("bad", { input: { id: "string" } }, async () => undefined)
// @ts-expect-error there is no such option
workflow("bad", { timeoutMs: 5 }, async () => undefined)
// @ts-expect-error "soon" is no duration
workflow("bad", { timeout: "soon" }, async () => undefined)

// --- sendOrStart, get, batch --------------------------------------------------------------------------------------------

exactly<Date>()(await (await engine.sendOrStart(order, { id: "i", event: "payment", payload: { amount: "1" }, input: { id: "1", at: "x" } })).result())
await engine.sendOrStart(typed, { id: "i", event: "ping", payload: undefined })
// @ts-expect-error there is no such event
await engine.sendOrStart(order, { id: "i", event: "refund", payload: { amount: "1" }, input: { id: "1", at: "x" } })
// @ts-expect-error the payload is of another event
await engine.sendOrStart(order, { id: "i", event: "payment", payload: undefined, input: { id: "1", at: "x" } })
// @ts-expect-error the input is missing
await engine.sendOrStart(order, { id: "i", event: "payment", payload: { amount: "1" } })
// @ts-expect-error the id is missing
await engine.sendOrStart(typed, { event: "ping", payload: undefined })

exactly<Promise<Date>>()(engine.get(order, "i").result())
exactly<Promise<unknown>>()(engine.get("i").result())
await engine.get("i").sendEvent("whatever", { at: "all" })
// @ts-expect-error there is no such event
await engine.get(order, "i").sendEvent("refund")
exactly<Promise<InstanceDescription>>()(engine.get("i").describe())

const byName = await engine.start("order", { input: "nothing is known of it" })
exactly<Handle>()(byName)
exactly<unknown>()(await byName.result())

for (const answer of await engine.startBatch([{ workflow: order, input: { id: "a", at: "2026-01-01" } }, { workflow: "bare" }])) {
  if (answer.created) exactly<string>()(answer.id)
  else exactly<string>()(answer.error.message)
  // @ts-expect-error only a refused one has an error
  void (answer.created && answer.error)
}

// @ts-expect-error there is no such status
await engine.list({ status: "happy" })
await engine.list({ status: ["failed", "stalled"], since: new Date(), order: "oldest", limit: 5 })

// --- schedules ----------------------------------------------------------------------------------------------------------

const nightly = await engine.schedules.create("nightly", { workflow: plain, input: { id: "a" }, cron: "0 2 * * *", timeZone: "Europe/Berlin", catchUp: "1h" })
exactly<{ doubled: number; text: "inner" }>()(await (await nightly.trigger()).result())
exactly<ScheduleDescription>()(await nightly.describe())
await nightly.trigger({ input: { id: "b", count: 1 } })
await nightly.update({ input: { id: "c" }, overlap: "cancel-previous", catchUp: null })
await nightly.update({ every: "5m" })
await engine.schedules.create("often", { workflow: bare, every: "5m", overlap: "queue", tags: ["x"], timeout: "1h", paused: true, ifExists: "update" })
await engine.schedules.create("often", { workflow: "by name", input: "anything", every: 500, startAt: new Date(), endAt: "2027-01-01" })
await engine.schedules.create("schema", { workflow: order, input: { id: "1", at: "2026-01-01" }, cron: "@daily" })
// @ts-expect-error the input is missing
await engine.schedules.create("nightly", { workflow: plain, cron: "0 2 * * *" })
// @ts-expect-error id is a string
await engine.schedules.create("nightly", { workflow: plain, input: { id: 1 }, cron: "0 2 * * *" })
// @ts-expect-error the workflow takes no input
await engine.schedules.create("nightly", { workflow: bare, input: 5, cron: "0 2 * * *" })
// @ts-expect-error neither cron nor every
await engine.schedules.create("nightly", { workflow: bare })
// @ts-expect-error both
await engine.schedules.create("nightly", { workflow: bare, cron: "0 2 * * *", every: "5m" })
// @ts-expect-error an interval has no time zone
await engine.schedules.create("nightly", { workflow: bare, every: "5m", timeZone: "Europe/Berlin" })
// @ts-expect-error there is no such policy
await engine.schedules.create("nightly", { workflow: bare, every: "5m", overlap: "wait" })
// @ts-expect-error there is no such option
await engine.schedules.create("nightly", { workflow: bare, cron: "0 2 * * *", timezone: "Europe/Berlin" })
// @ts-expect-error id is a string
await nightly.trigger({ input: { id: 1 } })
// @ts-expect-error id is a string
await nightly.update({ input: { id: 1 } })
exactly<ScheduleHandle<"sleep" | "wait", 1 | "two">>()(engine.schedules.get(union, "s"))
await engine.schedules.get("s").backfill({ from: new Date(), to: 5, overlap: "queue" })
// @ts-expect-error there is no such choice
await engine.schedules.get("s").backfill({ from: new Date(), to: 5, overlap: "skip" })

// --- definitions are values -----------------------------------------------------------------------------------------------

exactly<Workflow<"sleep" | "wait", 1 | "two">>()(union)
// @ts-expect-error an order is not a plain workflow
const _wrong: typeof plain = order
const durations: Duration[] = [500, "500ms", "30s", "5m", "24h", "7d", "2w", "1 hour", "5 minutes"]
void durations

// --- rollback, continueAsNew, patched, fork, terminate -------------------------------------------------------------------------

const undoable = workflow("undoable", async (ctx, input: { round: number }) => {
  const reserved = await ctx.do("reserve", async () => ({ shelf: "A7" }), {
    rollback: (result, { attempt, idempotencyKey, signal, step }) => {
      exactly<{ shelf: string }>()(result)
      exactly<number>()(attempt)
      exactly<string>()(idempotencyKey)
      exactly<AbortSignal>()(signal)
      return step.do("inside", () => result.shelf)
    },
  })
  // What undoes a step says nothing about what the step gives.
  exactly<{ shelf: string }>()(reserved)
  const nothing = await ctx.do("nothing", () => undefined, {
    rollback: { run: (result) => exactly<undefined>()(result), retry: { maxAttempts: 9 }, timeout: "1m" },
  })
  exactly<undefined>()(nothing)
  // @ts-expect-error the result is a number
  await ctx.do("number", () => 1, { rollback: (result: string) => result })
  // @ts-expect-error a rollback has a function to run
  await ctx.do("number", () => 1, { rollback: { retry: { maxAttempts: 9 } } })
  // @ts-expect-error a rollback is not undone itself
  await ctx.do("number", () => 1, { rollback: { run: () => 1, rollback: () => 1 } })
  exactly<boolean>()(ctx.patched("fees"))
  // @ts-expect-error a patch has a name
  ctx.patched()
  // It does not come back: the result is that of the other ways out.
  if (input.round < 3) return ctx.continueAsNew({ round: input.round + 1 })
  return reserved.shelf
})

const undoableHandle = await engine.start(undoable, { input: { round: 1 } })
exactly<string>()(await undoableHandle.result())
exactly<Handle<string, Record<string, unknown>>>()(await undoableHandle.fork({ id: "fork", from: "reserve", input: { round: 2 } }))
// @ts-expect-error a fork has an id
await undoableHandle.fork({ from: "reserve" })
await undoableHandle.terminate("enough")
await undoableHandle.terminate({ reason: "enough", rollback: true })
// @ts-expect-error there is no such option
await undoableHandle.terminate({ undo: true })
exactly<readonly string[] | undefined>()((await undoableHandle.describe()).notRolledBack)

const endless = workflow("endless", async (ctx, round: number): Promise<never> => {
  await ctx.sleep("nap", "1h")
  return ctx.continueAsNew(round + 1)
})
exactly<never>()(await (await engine.start(endless, { input: 1 })).result())

// --- children ---------------------------------------------------------------------------------------------------------------

const raising = workflow("raising", async (ctx) => {
  const child = await ctx.startChild(order, { id: "c", input: { id: "1", at: "2026-01-01" }, onParentEnd: "abandon", timeout: "1h", tags: ["x"] })
  exactly<string>()(child.id)
  exactly<Date>()(await child.result())
  exactly<Date>()(await ctx.runChild(order, { input: { id: "1", at: "2026-01-01" } }))
  exactly<void>()(await child.sendEvent("payment", { amount: "10" }))
  exactly<void>()(await child.sendEvent("cancel"))
  exactly<void>()(await child.cancel("not needed"))
  // @ts-expect-error there is no such event
  await child.sendEvent("refund", { amount: "10" })
  // @ts-expect-error senders give text, the code sees the number
  await child.sendEvent("payment", { amount: 10 })
  // @ts-expect-error the payload is missing
  await child.sendEvent("payment")
  // @ts-expect-error senders give text, the code sees the Date
  await ctx.startChild(order, { input: { id: "1", at: new Date() } })
  // @ts-expect-error the input is missing
  await ctx.startChild(order, { id: "c" })
  // @ts-expect-error the input is missing
  await ctx.runChild(order)
  // @ts-expect-error there is no such end
  await ctx.startChild(bare, { onParentEnd: "forget" })
  // @ts-expect-error the workflow takes no input
  await ctx.runChild(bare, { input: 5 })
  exactly<string>()(await ctx.runChild(bare))
  exactly<number | undefined>()(await ctx.runChild(optional, { input: { n: 1 } }))
  exactly<1 | "two">()(await ctx.runChild(union, { input: "wait" }))
  const typedChild = await ctx.startChild(typed)
  await typedChild.sendEvent("approved", { by: "Ada" })
  await typedChild.sendEvent("ping")
  // @ts-expect-error by is a string
  await typedChild.sendEvent("approved", { by: 5 })
  const named = await ctx.startChild("order", { input: "nothing is known of it", version: "2" })
  exactly<unknown>()(await named.result())
  await named.sendEvent("whatever", { at: "all" })
  exactly<unknown>()(await ctx.runChild("order"))
})
void raising

// --- handlers of events, queries and updates -------------------------------------------------------------------------------

const attentive = workflow("attentive", async (ctx: Context<Pick<Events, "approved" | "ping">>) => {
  ctx.onEvent("approved", (payload) => exactly<{ by: string }>()(payload))
  ctx.onEvent("approved", async ({ by }) => ctx.do("thank", () => by))
  ctx.onEvent("ping", () => undefined)
  // @ts-expect-error there is no such event
  ctx.onEvent("rejected", () => undefined)
  // @ts-expect-error by is a string
  ctx.onEvent("approved", ({ by }: { by: number }) => by)
  ctx.setQueryHandler("plain", () => 1)
  ctx.setQueryHandler("typed", (n: number, text?: string) => `${n} ${text}`)
  ctx.setQueryHandler("rest", (...all: readonly string[]) => all.length)
  ctx.setQueryHandler("untyped", (n) => exactly<unknown>()(n))
  // @ts-expect-error a handler is a function
  ctx.setQueryHandler("none", 5)
  ctx.setUpdateHandler("plain", async (n: number) => ctx.do("add", () => n + 1))
  ctx.setUpdateHandler("checked", { validate: (n: number) => void n.toFixed() }, async (n: number, text: string) => text.repeat(n))
  ctx.setUpdateHandler("inferred", { validate: (n, text) => (exactly<number>()(n), exactly<string>()(text)) }, (n: number, text: string) => text.repeat(n))
  // @ts-expect-error what is validated is what the handler takes
  ctx.setUpdateHandler("mistaken", { validate: (n: string) => void n }, (n: number) => n)
  // @ts-expect-error there is no such option
  ctx.setUpdateHandler("mistaken", { check: () => undefined }, (n: number) => n)
  // @ts-expect-error the handler is missing
  ctx.setUpdateHandler("mistaken", { validate: () => undefined })
})

const attentiveHandle = await engine.start(attentive)
exactly<unknown>()(await attentiveHandle.query("typed", 1, "a"))
exactly<string>()(await attentiveHandle.query<string>("typed", 1))
exactly<unknown>()(await attentiveHandle.update("plain", 1))
exactly<number>()(await attentiveHandle.update<number>("plain", 1))
exactly<unknown>()(await engine.query("i", "typed", 1))
exactly<unknown>()(await engine.update("i", "plain", 1))
// @ts-expect-error a query has a name
await attentiveHandle.query()
