// Programs as people write them for Temporal, in the terms of perdure/activities. Tests run them on each store.

import { defineActivity, workflow, type WorkflowContext } from "../src/activities.ts"

export interface Order {
  readonly id: string
  readonly items: readonly string[]
}

interface OrderSignals {
  payment: { readonly amount: number }
}

interface OrderHandlers {
  queries: { status(): { readonly step: string | undefined; readonly startedAt: Date } }
}

/** What the activities of the order have done, by order. */
export class Shop {
  readonly done: string[] = []

  readonly reserveInventory = defineActivity("reserveInventory", async ({ id, items }: Order, { attempt }) => {
    if (attempt === 1) throw new Error("the warehouse does not answer")
    this.done.push(`reserved ${items.join(" and ")} for ${id}`)
    return { reservation: `r-${id}` }
  })

  readonly cancelReservation = defineActivity("cancelReservation", async (reservation: string) => {
    this.done.push(`cancelled ${reservation}`)
  })

  readonly ship = defineActivity("ship", async (reservation: string) => {
    this.done.push(`shipped ${reservation}`)
    return { tracking: `t-${reservation}` }
  })

  get activities() {
    return [this.reserveInventory, this.cancelReservation, this.ship]
  }
}

export const processOrder = workflow("processOrder", async (ctx: WorkflowContext<OrderSignals, Order, OrderHandlers>, order: Order) => {
  ctx.setQueryHandler("status", () => ({ step: ctx.currentStep, startedAt: ctx.startTime }))
  // By name: this code does not import the activities.
  const retry = { maxAttempts: 3, backoff: "exponential", initialInterval: "1ms" } as const
  const { reservation } = (await ctx.activity("reserveInventory", { input: order, retry })) as { reservation: string }
  const payment = await ctx.waitForSignal("payment", { timeout: "24h", default: null })
  if (payment === null) {
    await ctx.activity("cancelReservation", { input: reservation })
    return { status: "cancelled" as const }
  }
  const { tracking } = (await ctx.activity("ship", { input: reservation })) as { tracking: string }
  return { status: "shipped" as const, tracking, paid: payment.amount }
})

export const charge = defineActivity("charge", async ({ customer, month }: { customer: string; month: number }) => `${customer} paid for month ${month}`)

export const monthlyBilling = workflow("monthlyBilling", async (ctx: WorkflowContext<{ stop: undefined }>, customer: string) => {
  let isStopped = false
  let month = 0
  ctx.onEvent("stop", () => (isStopped = true))
  ctx.setQueryHandler("month", () => month)
  while (!isStopped) {
    await ctx.activity(charge, { input: { customer, month: ++month } })
    await ctx.sleep("30d")
  }
  return month
})

export const square = defineActivity("square", async (n: number) => n * n)

export const squareOf = workflow("squareOf", (ctx: WorkflowContext, n: number) => ctx.activity(square, { input: n }))

export const sumOfSquares = workflow("sumOfSquares", async (ctx: WorkflowContext, count: number) => {
  const numbers = Array.from({ length: count }, (_, n) => n)
  const children = await Promise.all(numbers.map((n) => ctx.startChild(squareOf, { workflowId: `${ctx.instance.id}-${n}`, input: n })))
  const squares = await Promise.all(children.map((child) => child.result()))
  return squares.reduce((sum, one) => sum + one, 0)
})

/** The sum of the squares of the numbers from 0 up to `count`, without `count`. */
export function expectedSum(count: number): number {
  return ((count - 1) * count * (2 * count - 1)) / 6
}
