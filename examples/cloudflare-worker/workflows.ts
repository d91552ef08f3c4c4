// The two workflows of the example, one in each form: a class, and a function.

import { type Context, workflow } from "perdure"
import { BaseWorkflow, eventSchema, type Step } from "perdure/cloudflare"

interface Events {
  readonly approval: { readonly approved: boolean }
}

/** Greets, sleeps for five seconds, and waits for somebody's approval. */
export class TestWorkflow extends BaseWorkflow<{ readonly name: string }, { readonly message: string; readonly greeting: string }, Events> {
  static readonly type = "test" as const
  static readonly events = { approval: eventSchema<{ approved: boolean }>() }

  async run(step: Step<Events>, { name }: { readonly name: string }): Promise<{ message: string; greeting: string }> {
    const greeting = await step.do("greet", () => `Hello, ${name}!`)
    await step.sleep("pause", "5s")
    const { approved } = await step.waitForEvent("approval", { timeout: "1m", default: { approved: false } })
    return { message: `${name} was ${approved ? "approved" : "not approved"}`, greeting }
  }
}

/** Reserves, waits to be paid, lets a moment pass, and ships with a carrier that is too busy at first. */
export const order = workflow(
  "order",
  { retry: { initialInterval: "1s", jitter: 0 } },
  async (ctx: Context<{ payment: { readonly amount: number } }>, input: { items: readonly string[] }) => {
    const reservation = await ctx.do("reserve", () => ({ items: input.items, shelf: "A7" }))
    const payment = await ctx.waitForEvent("payment", { timeout: "24h", default: null })
    if (payment === null) return { status: "cancelled" as const }
    await ctx.sleep("cool-off", "2s")
    const tracking = await ctx.do("ship", ({ attempt, idempotencyKey }) => {
      if (attempt < 3) throw new Error("the carrier is busy")
      return `${reservation.shelf}-${idempotencyKey.slice(0, 8)}`
    })
    return { status: "shipped" as const, paid: payment.amount, tracking }
  },
)
