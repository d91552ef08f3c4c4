// The two workflows of the example. Steps do the work and are recorded; everything else is plain code between them.

import { type Context, workflow } from "perdure"

export interface Approval {
  readonly approved: boolean
}

/** Greets, sleeps for five seconds, and waits for somebody's approval. */
export const test = workflow("test", async (ctx: Context<{ approval: Approval }>, input: { name: string }) => {
  const greeting = await ctx.do("greet", () => `Hello, ${input.name}!`)
  await ctx.sleep("pause", "5s")
  const { approved } = await ctx.waitForEvent("approval", { timeout: "1m", default: { approved: false } })
  return { message: `${input.name} was ${approved ? "approved" : "not approved"}`, greeting }
})

export interface Payment {
  readonly amount: number
}

/** Reserves, waits to be paid, lets a moment pass, and ships with a carrier that is too busy at first. */
export const order = workflow(
  "order",
  { retry: { initialInterval: "1s", jitter: 0 } },
  async (ctx: Context<{ payment: Payment }>, input: { items: readonly string[] }) => {
    const reservation = await ctx.do("reserve", () => ({ items: input.items, shelf: "A7" }))
    const payment = await ctx.waitForEvent("payment", { timeout: "24h", default: null })
    if (payment === null) return { status: "cancelled" as const }
    await ctx.sleep("cool-off", "2s")
    const tracking = await ctx.do("ship", ({ attempt, idempotencyKey }) => {
      if (attempt < 3) throw new Error("the carrier is busy")
      // The same for every attempt: a real carrier would recognise an order that it has already taken.
      return `${reservation.shelf}-${idempotencyKey.slice(0, 8)}`
    })
    return { status: "shipped" as const, paid: payment.amount, tracking }
  },
)
