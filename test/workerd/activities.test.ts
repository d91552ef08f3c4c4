// The programs of perdure/activities in Durable Objects, where activities run in the object of their workflow.

import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { expect, it } from "vitest"
import { WorkflowClient } from "../../src/activities-worker.ts"
import { expectedSum, processOrder, square, sumOfSquares } from "../activities-programs.ts"
import { soon } from "./eventually.ts"

const { ACTIVITIES_RUNNER } = env as { readonly ACTIVITIES_RUNNER: DurableObjectNamespace }
const client = new WorkflowClient(ACTIVITIES_RUNNER)

it("an order is paid: an activity that is retried, a signal, a query, a list", async () => {
  const handle = await client.start(processOrder, { workflowId: "order-1", input: { id: "1", items: ["lamp"] }, taskQueue: "orders" })
  await soon(async () => expect(await handle.query("status")).toMatchObject({ step: "payment" }))
  await soon(async () => expect((await client.list({ status: "running", taskQueue: "orders" })).workflows).toHaveLength(1))
  await handle.signal("payment", { amount: 10 })
  expect(await handle.result()).toEqual({ status: "shipped", tracking: "t-r-1", paid: 10 })
  const { status, steps } = await handle.describe()
  expect([status, ...steps.map(({ type }) => type)]).toEqual(["completed", "activity", "wait", "activity"])
})

it("children are joined, and a workflow is terminated", async () => {
  const handle = await client.start(sumOfSquares, { workflowId: "sum", input: 20 })
  expect(await handle.result()).toBe(expectedSum(20))
  await client.start(processOrder, { workflowId: "order-2", input: { id: "2", items: [] } })
  expect(await client.terminate("order-2", "not needed")).toMatchObject({ accepted: true, status: "terminated" })
})

it("an activity runs without a workflow, and a client of a store is refused", async () => {
  expect(await client.activity(square, { input: 12, id: "square-12" })).toBe(144)
  expect(await client.describe("square-12")).toMatchObject({ workflow: "perdure.activity", status: "completed" })
  await expect(new WorkflowClient({ open: () => undefined } as unknown as string).list()).rejects.toMatchObject({ code: "BAD_OPTION" })
})
