// Queries, updates, inputs of runs that continue, and batches, as the compiler sees them. Checked by `npm run typecheck`; nothing here runs.

import { type Client, type Context, type EventMap, type Handle, workflow } from "perdure"
import { connect } from "perdure/client"
import { workflowClient } from "perdure/cloudflare"
import { createTestEngine } from "perdure/testing"
import * as z from "zod"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Takes only a value of exactly that type: one that is wider, or `any`, makes the second argument necessary. */
declare function exactly<Expected>(): <Actual>(value: Actual, ...proof: Equal<Actual, Expected> extends true ? [] : ["is not the expected type"]) => void

declare const engine: Client

interface Events {
  note: string
  close: undefined
}

/** An interface, as people write it: it has no index signature. */
interface Basket {
  queries: {
    items(from?: number): string[]
    total(): { amount: number }
  }
  updates: {
    add(item: string, count: number): number
    clear(): Promise<void>
  }
}

const basket = workflow("basket", async (ctx: Context<Events, { name: string }, Basket>, input: { name: string }) => {
  ctx.setQueryHandler("items", (from = 0) => {
    exactly<number>()(from)
    return [input.name]
  })
  ctx.setQueryHandler("total", () => ({ amount: 1 }))
  // @ts-expect-error there is no such query
  ctx.setQueryHandler("itms", () => [])
  // @ts-expect-error the answer is another
  ctx.setQueryHandler("total", () => 1)
  // @ts-expect-error a query answers at once
  ctx.setQueryHandler("items", async () => [])
  ctx.setUpdateHandler("add", (item, count) => item.length + count)
  ctx.setUpdateHandler("add", async (item, count) => {
    exactly<string>()(item)
    exactly<number>()(count)
    return ctx.do("add", () => count)
  })
  ctx.setUpdateHandler("clear", async () => {})
  ctx.setUpdateHandler(
    "add",
    {
      validate: (item, count) => {
        exactly<string>()(item)
        exactly<number>()(count)
      },
    },
    (_item, count) => count,
  )
  // @ts-expect-error there is no such update
  ctx.setUpdateHandler("ad", () => 1)
  // @ts-expect-error its arguments are others
  ctx.setUpdateHandler("add", (item: number) => item)
  if (input.name === "again") return ctx.continueAsNew({ name: "more" })
  // @ts-expect-error the input has a name
  if (input.name === "wrong") return ctx.continueAsNew({ nam: "more" })
  // @ts-expect-error the input is missing
  if (input.name === "nothing") return ctx.continueAsNew()
  return ctx.waitForEvent("note")
})

async function asked(handle: Handle<string, Events, Basket>): Promise<void> {
  exactly<string[]>()(await handle.query("items"))
  exactly<string[]>()(await handle.query("items", 2))
  exactly<{ amount: number }>()(await handle.query("total"))
  exactly<number>()(await handle.update("add", "lamp", 2))
  exactly<void>()(await handle.update("clear"))
  // @ts-expect-error there is no such query
  await handle.query("itms")
  // @ts-expect-error it is an update
  await handle.query("add", "lamp", 2)
  // @ts-expect-error the argument is a number
  await handle.query("items", "2")
  // @ts-expect-error it takes none
  await handle.query("total", 1)
  // @ts-expect-error the count is missing
  await handle.update("add", "lamp")
  // @ts-expect-error there is no such update
  await handle.update("remove", "lamp")
  exactly<Handle<string, Events, Basket>>()(await handle.fork({ id: "other" }))
}

// Every client gives the same handle.
await asked(await engine.start(basket, { input: { name: "a" } }))
await asked(engine.get(basket, "basket-1"))
await asked(await engine.sendOrStart(basket, { id: "i", event: "note", payload: "x", input: { name: "a" } }))
await asked(connect("http://127.0.0.1:8787").get(basket, "basket-1"))
declare const binding: Parameters<typeof workflowClient>[0]
await asked(await workflowClient(binding).start(basket, { input: { name: "a" }, locationHint: "weur" }))
await asked(await (await engine.schedules.create("daily", { workflow: basket, every: "1d", input: { name: "a" } })).trigger())
// @ts-expect-error a place is a string
await workflowClient(binding).start(basket, { input: { name: "a" }, locationHint: 5 })

// --- where nothing is declared, any name and any arguments -------------------------------------------------------------------

const free = workflow("free", async (ctx: Context<Events>) => {
  ctx.setQueryHandler("items", (from: number) => [from])
  ctx.setUpdateHandler("add", { validate: (item: string) => void item.length }, (item: string) => item.length)
  // @ts-expect-error a validation takes what the handler takes
  ctx.setUpdateHandler("add", { validate: (item: number) => void item }, (item: string) => item.length)
  await ctx.continueAsNew()
  await ctx.continueAsNew({ any: "thing" })
})
const freeHandle = await engine.start(free)
exactly<unknown>()(await freeHandle.query("whatever", 1, "2"))
exactly<number>()(await freeHandle.query<number>("whatever"))
exactly<string[]>()(await freeHandle.update<string[]>("whatever", {}))
exactly<unknown>()(await engine.get("i").query("whatever"))
exactly<number>()(await engine.get("i").update<number>("whatever", 1))

// Only queries are declared: updates are free.
const half = workflow("half", async (ctx: Context<EventMap, void, { queries: { state(): "open" | "closed" } }>) => {
  ctx.setQueryHandler("state", () => "open")
  ctx.setUpdateHandler("any", (value: number) => value)
})
const halfHandle = await engine.start(half)
exactly<"open" | "closed">()(await halfHandle.query("state"))
exactly<number>()(await halfHandle.update<number>("any", 1))
// @ts-expect-error there is no such query
await halfHandle.query("stat")

// With schemas, the type of the context is said beside them.
const checked = workflow(
  "checked",
  { input: z.object({ at: z.coerce.date() }), events: { note: z.string() } },
  async (ctx: Context<{ note: string }, unknown, Basket>, input) => {
    exactly<Date>()(input.at)
    return ctx.waitForEvent("note")
  },
)
exactly<number>()(await (await engine.start(checked, { input: { at: "2026-01-01" } })).update("add", "lamp", 1))

// --- continueAsNew without a type of the context: by the input ----------------------------------------------------------------

workflow("loop", async (ctx, input: { n: number }) => {
  if (input.n > 9) return "done"
  // @ts-expect-error n is a number
  if (input.n < 0) return ctx.continueAsNew({ n: "1" })
  return ctx.continueAsNew({ n: input.n + 1 })
})
workflow("bare", async (ctx) => ctx.continueAsNew())
workflow("optional", async (ctx, input?: string) => (input === undefined ? ctx.continueAsNew("x") : ctx.continueAsNew()))
workflow("schema", { input: z.object({ at: z.coerce.date() }) }, async (ctx, { at }) => {
  if (at.getTime() === 0) return 1
  // What a start takes, as the schema is asked again.
  return ctx.continueAsNew({ at: at.toISOString() })
})
// @ts-expect-error at is missing
workflow("schema", { input: z.object({ at: z.coerce.date<string>() }) }, async (ctx) => ctx.continueAsNew({}))

// --- batches --------------------------------------------------------------------------------------------------------------------

await engine.startBatch([
  { workflow: basket, input: { name: "a" }, id: "a" },
  { workflow: free, tags: ["t"] },
  { workflow: "by name", input: 5 },
])
await engine.startBatch(["a", "b"].map((name) => ({ workflow: basket, id: name, input: { name } })))
// @ts-expect-error the name is a string
await engine.startBatch([{ workflow: free }, { workflow: basket, input: { name: 1 } }])
// @ts-expect-error the input is missing
await engine.startBatch([{ workflow: basket }])
// @ts-expect-error the name is a string
await engine.startBatch([1, 2].map((name) => ({ workflow: basket, input: { name } })))
// @ts-expect-error there is no such option
await engine.startBatch([{ workflow: free, transaction: 1 }])

// --- the test kit -----------------------------------------------------------------------------------------------------------------

const test = await createTestEngine({ workflows: [basket] })
const handle = await test.start(basket, { input: { name: "a" } })
await test.sendEvent(handle, "note", "hello")
await test.sendEvent(handle, "close")
await test.sendEvent(handle, "note", "hello", { eventId: "1" })
await test.sendEvent("basket-1", "anything", { at: "all" }, { eventId: "1" })
await test.sendEvent("basket-1", "anything")
// @ts-expect-error there is no such event
await test.sendEvent(handle, "noted", "hello")
// @ts-expect-error the payload is a string
await test.sendEvent(handle, "note", 5)
// @ts-expect-error the event has a payload
await test.sendEvent(handle, "note")

/** Names of steps that are declared are checked in the code, and where a test replaces one. */
const shipping = workflow("shipping", async (ctx: Context<EventMap, void, { steps: "reserve" | "ship" }>) => {
  await ctx.do("reserve", async ({ step }) => step.do("look", () => 1))
  await ctx.transaction("ship", () => 1)
  // @ts-expect-error no such step is declared
  await ctx.do("resrve", () => 1)
  // @ts-expect-error no such step is declared
  await ctx.transaction("shp", () => 1)
})
const kit = await createTestEngine({ workflows: [shipping, basket] })
kit.mockStep(shipping, "reserve", 1)
kit.mockStep(shipping, "ship#2", 1)
kit.mockStep(shipping, "reserve/look", 1)
// @ts-expect-error no such step is declared
kit.mockStep(shipping, "resrve", 1)
kit.mockStep("shipping", "resrve", 1)
// It declares queries and updates, and no steps.
kit.mockStep(basket, "whatever", 1)
// What starts it does not care.
void kit.start(shipping)
