// A client over HTTP has the types of the engine: what compiles with one compiles with the other. Checked by `npm run typecheck`.

import { type Client, type Context, type Engine, type Handle, workflow } from "perdure"
import { type Client as ClientOfClient, connect } from "perdure/client"
import { createTestEngine } from "perdure/testing"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function exactly<Expected>(): <Actual>(value: Actual, ...proof: Equal<Actual, Expected> extends true ? [] : ["is not the expected type"]) => void

const order = workflow("order", async (ctx: Context<{ payment: { amount: number }; cancel: undefined }>, item: string) => {
  const { amount } = await ctx.waitForEvent("payment")
  return { item, amount }
})
const idle = workflow("idle", async () => "done" as const)
interface Paid {
  item: string
  amount: number
}

const client = connect("http://127.0.0.1:8787", { token: "secret" })
declare const engine: Engine
declare function takesAny(given: Client): void
takesAny(client)
takesAny(engine)
declare const other: ClientOfClient
exactly<Client>()(other)

const handle = await client.start(order, { input: "lamp" })
exactly<Paid>()(await handle.result())
exactly<"done">()(await (await client.start(idle)).result())
exactly<Handle>()(await client.start("order"))
// @ts-expect-error the input is a string
await client.start(order, { input: 1 })
// @ts-expect-error it needs an input
await client.start(order)

const known = client.get(order, "order-1")
await known.sendEvent("payment", { amount: 1 })
await known.sendEvent("cancel")
// @ts-expect-error the amount is a number
await known.sendEvent("payment", { amount: "1" })
// @ts-expect-error there is no such event
await known.sendEvent("paid", { amount: 1 })
await client.sendOrStart(order, { id: "order-1", event: "payment", payload: { amount: 1 }, input: "lamp" })
// @ts-expect-error a payment has an amount
await client.sendOrStart(order, { id: "order-1", event: "payment", payload: 1, input: "lamp" })

const schedule = await client.schedules.create("daily", { workflow: order, cron: "0 2 * * *", input: "lamp" })
exactly<Paid>()(await (await schedule.trigger()).result())
// @ts-expect-error the input is a string
await client.schedules.create("daily", { workflow: order, cron: "0 2 * * *", input: 1 })

for await (const change of client.changes()) exactly<string | undefined>()(change.data.step)

// The components of an engine are no part of its type.
// @ts-expect-error for Perdure itself
void engine.components
// @ts-expect-error for Perdure itself
void engine.core
// @ts-expect-error for tests of Perdure itself
void engine.kill
await engine.close()
const testEngine = await createTestEngine({ workflows: [order] })
exactly<Engine>()(testEngine.current)
exactly<Paid>()(await (await testEngine.start(order, { input: "lamp" })).result())
// @ts-expect-error it is open
void testEngine.open
await testEngine.close()
