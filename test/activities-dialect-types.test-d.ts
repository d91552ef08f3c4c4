// What compiles and what does not. Checked by `npm run typecheck`; nothing here runs.

import { Perdure } from "perdure"
import {
  defineActivity,
  workflow,
  WorkflowClient,
  type WorkflowContext,
  type WorkflowDescription,
  type WorkflowHandle,
  type WorkflowStatus,
  WorkflowWorker,
} from "perdure/activities"
import { sqlite } from "perdure/sqlite"
import { createTestEngine } from "perdure/testing"
import * as z from "zod"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function exactly<Expected>(): <Actual>(value: Actual, ...proof: Equal<Actual, Expected> extends true ? [] : ["is not the expected type"]) => void

interface Order {
  readonly items: readonly string[]
}
interface Signals {
  payment: { readonly amount: number }
  ping: undefined
}
interface Handlers {
  queries: { status(detailed: boolean): string }
  updates: { add(item: string): number }
}

const reserve = defineActivity("reserve", async (items: readonly string[], { attempt, heartbeat }) => {
  heartbeat({ attempt })
  return items.length
})
const tidy = defineActivity("tidy", async () => "tidied")

const parcel = workflow("parcel", async (ctx: WorkflowContext<{ address: string }>, item: string) => `${item} to ${await ctx.waitForSignal("address")}`)
const nothing = workflow("nothing", async () => 1)

const order = workflow("order", async (ctx: WorkflowContext<Signals, Order, Handlers>, input: Order) => {
  exactly<number>()(await ctx.activity(reserve, { input: input.items, retry: { maxAttempts: 3, backoff: "exponential" }, timeout: "1m", taskQueue: "stock" }))
  exactly<string>()(await ctx.activity(tidy))
  exactly<unknown>()(await ctx.activity("reserve", { input: 1 }))
  // @ts-expect-error the input is missing
  await ctx.activity(reserve)
  // @ts-expect-error the input is another
  await ctx.activity(reserve, { input: 1 })
  // @ts-expect-error a duration has a unit that we know
  await ctx.activity(tidy, { heartbeatTimeout: "5 fortnights" })
  exactly<Signals["payment"] | null>()(await ctx.waitForSignal("payment", { timeout: "24h", default: null }))
  exactly<Signals["payment"]>()(await ctx.waitForSignal("payment"))
  // @ts-expect-error there is no such signal
  await ctx.waitForSignal("payments")
  await ctx.sleep("1h")
  await ctx.sleep(500, { signal: ctx.signal })
  await ctx.sleep("cool-off", "1h")
  // @ts-expect-error that is no duration
  await ctx.sleep("cool-off")
  await ctx.sleepUntil("2024-02-01T00:00:00Z")
  await ctx.sleepUntil("spring", new Date())
  ctx.setQueryHandler("status", (detailed) => (detailed ? "all" : `${ctx.currentStep} since ${ctx.startTime.toISOString()}`))
  // @ts-expect-error there is no such query
  ctx.setQueryHandler("state", () => 1)
  const child = await ctx.startChild(parcel, { workflowId: "parcel-1", input: "lamp", taskQueue: "shipping" })
  exactly<string>()(child.workflowId)
  exactly<string>()(await child.result())
  await child.signal("address", "12 Main Street")
  // @ts-expect-error the payload is another
  await child.signal("address", 12)
  // @ts-expect-error it is called workflowId
  await ctx.startChild(parcel, { id: "parcel-1", input: "lamp" })
  // @ts-expect-error the input is missing
  await ctx.executeChild(parcel, {})
  exactly<number>()(await ctx.executeChild(nothing))
  exactly<unknown>()(await ctx.executeChild("nothing"))
  if (input.items.length === 0) return ctx.continueAsNew(input)
  // @ts-expect-error the input is another
  if (input.items.length === 1) return ctx.continueAsNew(1)
  exactly<string>()(await ctx.do("native", () => "a step"))
  return { shipped: true }
})

const checked = workflow("checked", { input: z.object({ at: z.coerce.date() }), signals: { go: z.number() } }, async (ctx, input) => {
  exactly<Date>()(input.at)
  exactly<number>()(await ctx.waitForSignal("go"))
  return input.at
})

export async function main(): Promise<void> {
  const client = new WorkflowClient(sqlite("app.db"), { sweep: "1s" })
  const handle = await client.start(order, { workflowId: "order-1", input: { items: [] }, taskQueue: "orders", timeout: "7d" })
  exactly<WorkflowHandle<{ shipped: boolean }, Signals, Handlers>>()(handle)
  exactly<string>()(await handle.query("status", true))
  exactly<number>()(await handle.update("add", "lamp"))
  await handle.signal("payment", { amount: 1 })
  await handle.signal("ping")
  // @ts-expect-error the payload is missing
  await handle.signal("payment")
  // @ts-expect-error there is no such query
  await handle.query("state")
  // @ts-expect-error the input is missing
  await client.start(order, { workflowId: "order-1" })
  exactly<WorkflowHandle>()(await client.start("order", { input: 1 }))
  exactly<WorkflowHandle<{ shipped: boolean }, Signals, Handlers>>()(client.getHandle(order, "order-1"))
  exactly<WorkflowHandle>()(client.getHandle("order-1"))
  exactly<WorkflowDescription>()(await client.describe("order-1"))
  exactly<WorkflowStatus>()((await client.list({ status: ["running", "failed"], taskQueue: "orders" })).workflows[0]!.status)
  // @ts-expect-error there is no such status here
  await client.list({ status: "sleeping" })
  await client.start(checked, { input: { at: "2026-01-01" } })
  exactly<number>()(await client.activity(reserve, { input: ["lamp"], id: "a", taskQueue: "stock" }))
  exactly<string>()(await client.activity(tidy))
  exactly<WorkflowHandle<number>>()(await client.startActivity(reserve, { input: [] }))
  // @ts-expect-error the input is missing
  await client.activity(reserve, { id: "a" })
  // @ts-expect-error it would be shown as a workflow
  await client.activity(tidy, { sensitive: true })

  const worker = new WorkflowWorker({ store: sqlite("app.db"), taskQueue: "orders", workflows: [order, parcel], activities: [reserve, tidy], lease: "10s" })
  await worker.run()
  // @ts-expect-error a worker has one task queue option
  void new WorkflowWorker({ store: sqlite("app.db"), taskQueues: ["orders"] })
  void new WorkflowClient("http://127.0.0.1:8787", { token: "secret" })
  // @ts-expect-error a store has no token
  void new WorkflowClient(sqlite("app.db"), { token: "secret" })
  void new WorkflowClient(await Perdure.open({ workflows: [order] }))
  await using engine = await createTestEngine({ workflows: [order] })
  void new WorkflowClient(engine)
}
