import { type Context, eventSchema, workflow } from "perdure"

interface Order {
  readonly n: number
}

/** Waits for a payment, unless the order is paid. */
export const order = workflow("order", async (ctx: Context<{ payment: { amount: number } }>, input: Order & { readonly paid?: boolean }) => {
  let discount = 0
  ctx.setQueryHandler("discount", () => discount)
  ctx.setUpdateHandler("grant", (percent: number) => (discount = percent))
  await ctx.do("reserve", ({ step }) => step.do("lock", () => input.n))
  if (input.paid === true) return { n: input.n, amount: 0 }
  const { amount } = await ctx.waitForEvent("payment")
  return { n: input.n, amount, discount }
})

/** A workflow that fails after its second attempt. */
export const refund = workflow("refund", async (ctx, input: Order) => {
  await ctx.do("look up", () => input.n)
  await ctx.do(
    "pay back",
    () => {
      throw new Error("the bank is \u001b[31mclosed\u001b[39m\nuntil Monday")
    },
    { retry: { maxAttempts: 2, initialInterval: 30, jitter: 0 } },
  )
})

export const limited = workflow("limited", { version: "7", concurrency: 3, rateLimit: { limit: 10, per: "1m" } }, async () => "done")

export const report = workflow("report", { taskQueue: "reports" }, async () => "written")

/** When its code runs again, it asks for another step than recorded, so the instance stalls. */
export const fickle = workflow("fickle", async (ctx: Context) => {
  if (ctx.instance.run === 1) await ctx.do("choose", () => 1)
  else await ctx.sleep("choose", "1h")
  await ctx.do("keep", () => 2)
})

/** A workflow that declares its events. */
export const booking = workflow("booking", { events: { confirmed: eventSchema<boolean>(), moved: eventSchema<string>() } }, async (ctx) =>
  ctx.waitForEvent("confirmed"),
)

export const shop = [order, refund, limited, report, fickle, booking]
