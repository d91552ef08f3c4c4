// What `simulate` takes and gives. Checked by `npm run typecheck`; nothing here runs.

import { type Context, workflow } from "perdure"
import { simulate, type SimulatedWorld, type SimulationReport } from "perdure/testing"
import * as z from "zod"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function exactly<Expected>(): <Actual>(value: Actual, ...proof: Equal<Actual, Expected> extends true ? [] : ["is not the expected type"]) => void

const order = workflow("order", async (ctx: Context<{ payment: { amount: number }; note: string | undefined }>, input: { id: string }) => {
  await ctx.waitForEvent("payment")
  return { shipped: input.id }
})

exactly<SimulationReport<{ shipped: string }>>()(await simulate(order, { input: { id: "1" } }))
exactly<{ shipped: string }>()((await simulate(() => order, { input: { id: "1" } })).result)
exactly<{ shipped: string }>()((await simulate((world) => [order, workflow("other", async () => world.now())], { input: { id: "1" } })).result)
await simulate(order, {
  input: { id: "1" },
  events: [{ type: "payment", payload: { amount: 1 }, after: "1h", eventId: "p" }, { type: "note" }],
  actions: [{ after: "1h", run: (handle) => handle.sendEvent("payment", { amount: 2 }) }],
  seeds: [17, "crash soon after write 3", "evict at every rest"],
  faults: { crashes: true, delayEvents: false, downtime: "1m" },
  comparable: ({ shipped }) => shipped,
})

const setup = (world: SimulatedWorld) => [order, workflow("other", async () => world.now())] as const
exactly<{ shipped: string }>()((await simulate(setup, { input: { id: "1" }, events: [{ type: "payment", payload: { amount: 1 } }] })).result)
// @ts-expect-error the amount is a number
await simulate(setup, { input: { id: "1" }, events: [{ type: "payment", payload: { amount: "1" } }] })

// @ts-expect-error the input is missing
await simulate(order)
// @ts-expect-error the input is missing
await simulate(order, { seeds: 10 })
// @ts-expect-error id is a string
await simulate(order, { input: { id: 1 } })
// @ts-expect-error there is no such event
await simulate(order, { input: { id: "1" }, events: [{ type: "refund" }] })
// @ts-expect-error the amount is a number
await simulate(order, { input: { id: "1" }, events: [{ type: "payment", payload: { amount: "1" } }] })
// @ts-expect-error the payload is missing
await simulate(order, { input: { id: "1" }, events: [{ type: "payment" }] })
// @ts-expect-error "soon" is no duration
await simulate(order, { input: { id: "1" }, events: [{ type: "note", after: "soon" }] })
// @ts-expect-error there is no such seed
await simulate(order, { input: { id: "1" }, seeds: ["crash near write 3"] })
// @ts-expect-error there is no such fault
await simulate(order, { input: { id: "1" }, faults: { floods: true } })
// @ts-expect-error the result has no such field
await simulate(order, { input: { id: "1" }, comparable: (result: { lost: number }) => result.lost })

const bare = workflow("bare", async () => 1)
exactly<number>()((await simulate(bare)).result)
await simulate(bare, { seeds: 10, events: [{ type: "anything", payload: 1 }] })
// @ts-expect-error it takes no input
await simulate(bare, { input: 1 })

const schemed = workflow("schemed", { input: z.object({ at: z.coerce.date() }), events: { go: z.number() } }, async (ctx, input) => {
  exactly<Date>()(input.at)
  return ctx.waitForEvent("go")
})
exactly<number>()((await simulate(schemed, { input: { at: "2026-01-01" }, events: [{ type: "go", payload: 1 }] })).result)
