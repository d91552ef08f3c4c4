// The programs of perdure/activities on PostgreSQL, where each task queue has a worker of its own.

import { WorkflowClient, workflow, type WorkflowContext, WorkflowWorker, type WorkflowWorkerOptions } from "perdure/activities"
import { afterAll, afterEach, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { expectedSum, processOrder, Shop, square, squareOf, sumOfSquares } from "../activities-programs.ts"

const database = new TestDatabase(4)
const ending: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end()
  database.reset()
})
afterAll(() => database.drop())

async function openBoth(...options: readonly Omit<WorkflowWorkerOptions, "store">[]): Promise<WorkflowClient> {
  const schema = await database.emptySchema()
  for (const one of options) {
    const worker = new WorkflowWorker({ store: database.ownStore(schema), log: silentLogger, sweep: "1s", ...one })
    const run = worker.run()
    ending.push(async () => {
      await worker.shutdown()
      await run
    })
  }
  const client = new WorkflowClient(database.ownStore(schema), { log: silentLogger, sweep: "1s" })
  ending.push(() => client.close())
  return client
}

it("an order is paid, and answers a query of a process without a worker", async () => {
  const shop = new Shop()
  const client = await openBoth({ taskQueue: "orders", workflows: [processOrder], activities: shop.activities })
  const handle = await client.start(processOrder, { workflowId: "order-1", input: { id: "1", items: ["lamp"] }, taskQueue: "orders" })
  await expect.poll(() => client.why("order-1").then(({ because }) => because[0])).toContain("payment")
  expect(await handle.query("status")).toMatchObject({ step: "payment" })
  expect((await client.list({ status: "running", taskQueue: "orders" })).workflows).toHaveLength(1)
  await handle.signal("payment", { amount: 10 })
  expect(await handle.result()).toEqual({ status: "shipped", tracking: "t-r-1", paid: 10 })
  expect(shop.done).toEqual(["reserved lamp for 1", "shipped r-1"])
})

it("a thousand children are joined", async () => {
  const client = await openBoth({ taskQueue: "math", workflows: [sumOfSquares, squareOf], activities: [square] })
  const handle = await client.start(sumOfSquares, { workflowId: "sum", input: 1_000, taskQueue: "math" })
  expect(await handle.result()).toBe(expectedSum(1_000))
}, 120_000)

it("children run in the worker of their task queue", async () => {
  const parent = workflow("parent", async (ctx: WorkflowContext) => {
    const children = await Promise.all([1, 2, 3].map((n) => ctx.startChild(squareOf, { workflowId: `child-${n}`, input: n, taskQueue: "math" })))
    return Promise.all(children.map((child) => child.result()))
  })
  const client = await openBoth({ taskQueue: "orders", workflows: [parent] }, { taskQueue: "math", workflows: [squareOf], activities: [square] })
  const handle = await client.start(parent, { taskQueue: "orders" })
  expect(await handle.result()).toEqual([1, 4, 9])
  const { workflows } = await client.list({ workflow: "squareOf", taskQueue: "math" })
  expect(workflows.map(({ workflowId }) => workflowId).sort()).toEqual(["child-1", "child-2", "child-3"])
})

it("an activity without a workflow is executed by any worker, and runs in a process of its queue", async () => {
  const client = await openBoth({ taskQueue: "orders", workflows: [squareOf] }, { taskQueue: "math", activities: [square], role: "client" })
  expect(await client.activity(square, { input: 12, id: "twelve", taskQueue: "math" })).toBe(144)
  expect(await client.describe("twelve")).toMatchObject({ taskQueue: "math", steps: [{ id: "square", type: "activity", queue: "math" }] })
})
