// A program for Cloudflare Workflows. It runs on Cloudflare as it is, and here on Node and in Durable Objects without a change.

import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import { NonRetryableError } from "cloudflare:workflows"

export interface Order {
  cart: string
  amount: number
}

interface Binding<Params> {
  create(options: { id: string; params: Params }): Promise<{ id: string }>
}

export interface Env {
  PARCEL: Binding<{ cart: string }>
  /** What the steps did, one line each: in your program these are calls of other services. */
  LEDGER: string[]
}

/** Charges, waits for an approval, cools off, and hands the parcel over. What was done is undone if a later step fails. */
export class Checkout extends WorkflowEntrypoint<Env, Order> {
  async run({ payload, instanceId }: WorkflowEvent<Order>, step: WorkflowStep) {
    const { LEDGER: ledger } = this.env
    const { cart, amount } = payload
    await step.do("reserve stock", async () => void ledger.push(`${instanceId}: reserved ${cart}`), {
      rollback: async () => void ledger.push(`${instanceId}: released ${cart}`),
    })

    // The bank has no time at first.
    const receipt = await step.do(
      "charge",
      { retries: { limit: 3, delay: "1 second", backoff: "constant" }, timeout: "10 seconds" },
      async ({ attempt }) => {
        if (amount > 1_000) throw new NonRetryableError("the card is declined")
        if (attempt === 1) throw new Error("the bank is busy")
        ledger.push(`${instanceId}: charged ${amount}`)
        return `receipt-${attempt}`
      },
      { rollback: async ({ output }) => void ledger.push(`${instanceId}: refunded ${output ?? "nothing"}`) },
    )

    const { payload: approval } = await step.waitForEvent<{ approved: boolean; by: string }>("wait for approval", { type: "approval", timeout: "2 days" })
    if (!approval.approved) throw new Error(`${approval.by} said no`)
    await step.sleep("cool off", "1 second")

    const parcel = await this.env.PARCEL.create({ id: `parcel-${instanceId}`, params: { cart } })
    return { receipt, approvedBy: approval.by, parcel: parcel.id }
  }
}

/** Started by a checkout; it has a life of its own. */
export class Parcel extends WorkflowEntrypoint<Env, { cart: string }> {
  async run({ payload, instanceId }: WorkflowEvent<{ cart: string }>, step: WorkflowStep) {
    await step.do("hand over", async () => void this.env.LEDGER.push(`${instanceId}: sent ${payload.cart}`))
    return "sent"
  }
}
