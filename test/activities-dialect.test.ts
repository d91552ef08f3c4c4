import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { defineActivity, workflow, WorkflowClient, type WorkflowContext, WorkflowWorker, type WorkflowWorkerOptions } from "perdure/activities"
import { Perdure } from "perdure"
import { serve } from "perdure/http"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, memory } from "perdure/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { WorkflowWorker as EdgeWorker } from "../src/activities-worker.ts"
import type { StoreContext } from "../src/ports/store.ts"
import { Gate } from "../src/testing/scenarios/gate.ts"
import { silentLogger } from "../src/hosts/silent-logger.ts"
import { charge, expectedSum, monthlyBilling, processOrder, Shop, square, squareOf, sumOfSquares } from "./activities-programs.ts"

let folder: string
const ending: (() => Promise<unknown>)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-activities-"))
})

afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end()
  rmSync(folder, { recursive: true })
})

const store = () => sqlite(join(folder, "app.db"), { durability: "process", pollInterval: 2 })

function runWorker(options: Partial<WorkflowWorkerOptions>): WorkflowWorker {
  const worker = new WorkflowWorker({ store: store(), log: silentLogger, ...options })
  const run = worker.run()
  ending.push(async () => {
    await worker.shutdown()
    await run
  })
  return worker
}

function newClient(): WorkflowClient {
  const client = new WorkflowClient(store(), { log: silentLogger })
  ending.push(() => client.close())
  return client
}

describe("a worker and a client on one SQLite file", () => {
  it("process an order: an activity that is retried, a signal, a query of the client, a result", async () => {
    const shop = new Shop()
    runWorker({ taskQueue: "orders", workflows: [processOrder], activities: shop.activities })
    const client = newClient()
    const handle = await client.start(processOrder, { workflowId: "order-1", input: { id: "1", items: ["lamp", "chair"] }, taskQueue: "orders" })
    expect(handle.workflowId).toBe("order-1")
    await expect.poll(() => client.why("order-1").then(({ because }) => because[0])).toContain("payment")
    // This client has no worker: it answers from the definition that its handle was made with.
    expect(await handle.query("status")).toEqual({ step: "payment", startedAt: expect.any(Date) as Date })
    expect(await client.list({ status: "running", taskQueue: "orders" })).toMatchObject({
      workflows: [{ workflowId: "order-1", workflow: "processOrder", status: "running", detailedStatus: "waiting", taskQueue: "orders" }],
    })
    expect((await client.list({ status: ["running", "failed"], taskQueue: "other" })).workflows).toEqual([])
    await handle.signal("payment", { amount: 10 })
    expect(await handle.result()).toEqual({ status: "shipped", tracking: "t-r-1", paid: 10 })
    expect(shop.done).toEqual(["reserved lamp and chair for 1", "shipped r-1"])
    expect(await client.describe("order-1")).toMatchObject({ workflowId: "order-1", status: "completed", taskQueue: "orders" })
  })

  it("cancel and terminate a workflow, and say so in its status", async () => {
    runWorker({ workflows: [processOrder], activities: new Shop().activities })
    const client = newClient()
    const start = (workflowId: string) => client.start(processOrder, { workflowId, input: { id: workflowId, items: [] } })
    const handles = [await start("a"), await start("b"), await start("c")] as const
    for (const { workflowId } of handles) await expect.poll(() => client.why(workflowId).then(({ because }) => because[0])).toContain("payment")
    expect(await client.terminate("a", "why")).toEqual({ workflowId: "a", accepted: true, status: "terminated" })
    expect(await client.terminate("a")).toMatchObject({ accepted: false, reason: expect.any(String) as string })
    expect(await handles[1].cancel()).toMatchObject({ workflowId: "b", accepted: true })
    await expect(handles[0].result()).rejects.toMatchObject({ code: "TERMINATED", details: { reason: "why" } })
    await expect(handles[1].result()).rejects.toMatchObject({ name: "CancelledError" })
    const statuses = async (status: "terminated" | "cancelled" | "running") => (await client.list({ status })).workflows.map(({ workflowId }) => workflowId)
    expect([await statuses("terminated"), await statuses("cancelled"), await statuses("running")]).toEqual([["a"], ["b"], ["c"]])
    await expect(client.list({ status: "sleeping" as "running" })).rejects.toThrow('give one of "running", "paused"')
  })

  it("run an activity without a workflow: it is listed, and gives its result or its error", async () => {
    const fragile = defineActivity("fragile", { retry: { maxAttempts: 2, initialInterval: 0 } }, (_: void, { attempt }) => {
      throw new Error(`attempt ${attempt}`)
    })
    // The worker has no workflows, but it is the only process.
    runWorker({ taskQueue: "math", activities: [square, fragile], role: "worker" })
    const client = newClient()
    expect(await client.activity(square, { input: 12, id: "s", taskQueue: "math" })).toBe(144)
    expect(await client.activity("square", { input: 3, taskQueue: "math" })).toBe(9)
    await expect(client.activity(fragile, { taskQueue: "math" })).rejects.toMatchObject({ name: "StepFailedError", cause: { message: "attempt 2" } })
    const handle = await client.startActivity(square, { input: 12, id: "s", taskQueue: "math", ifExists: "return" })
    expect([handle.workflowId, await handle.result()]).toEqual(["s", 144])
    const { workflows } = await client.list({ taskQueue: "math", workflow: "perdure.activity" })
    expect(workflows.map(({ workflowId, status }) => [workflowId, status])).toContainEqual(["s", "completed"])
    expect(workflows).toHaveLength(3)
    await expect(client.activity(defineActivity("hidden", { sensitive: true }, () => 1))).rejects.toMatchObject({ code: "BAD_OPTION" })
  })

  it("join a thousand children", async () => {
    runWorker({ taskQueue: "math", workflows: [sumOfSquares, squareOf], activities: [square] })
    const client = newClient()
    const handle = await client.start(sumOfSquares, { workflowId: "sum", input: 1_000, taskQueue: "math" })
    expect(await handle.result()).toBe(expectedSum(1_000))
    expect((await client.list({ workflow: "squareOf", status: "completed", taskQueue: "math", limit: 1_000 })).workflows).toHaveLength(1_000)
  }, 60_000)

  it("start children in other task queues, which this worker serves too", async () => {
    const shipping = workflow("shipping", async (ctx: WorkflowContext<{ address: string }>) => `sent to ${await ctx.waitForSignal("address")}`)
    const quick = workflow("quick", async () => "quick")
    const parent = workflow("parent", async (ctx: WorkflowContext) => {
      const child = await ctx.startChild(shipping, { workflowId: "parcel", taskQueue: "shipping" })
      await child.signal("address", "12 Main Street")
      const second = await ctx.startChild(shipping, { workflowId: "second", taskQueue: "shipping" })
      await second.cancel("not needed")
      const failure = await second.result().catch((error: Error) => error.name)
      return [child.workflowId, await child.result(), failure, await ctx.executeChild(quick, { workflowId: "third" })]
    })
    runWorker({ taskQueue: ["orders", "shipping"], workflows: [parent, shipping, quick] })
    const client = newClient()
    const handle = await client.start(parent, { taskQueue: "orders" })
    expect(await handle.result()).toEqual(["parcel", "sent to 12 Main Street", "ChildFailedError", "quick"])
    const queues = (await client.list()).workflows.map(({ workflowId, taskQueue }) => [workflowId, taskQueue])
    expect(queues).toEqual(
      expect.arrayContaining([
        ["parcel", "shipping"],
        ["third", "orders"],
      ]),
    )
  })

  it("leave the workflows of the file to a worker that has some, even if one without workflows runs first", async () => {
    const roles: string[] = []
    const opened = new Gate()
    const watched = {
      ...store(),
      open: async (context: StoreContext) => {
        roles.push(context.role)
        const result = await store().open(context)
        opened.open()
        return result
      },
    }
    runWorker({ store: watched, taskQueue: "math", activities: [square] })
    await opened.passed
    runWorker({ taskQueue: "orders", workflows: [squareOf] })
    const client = newClient()
    const handle = await client.start(squareOf, { input: 4, taskQueue: "orders" })
    const far = await client.startActivity(square, { input: 5, taskQueue: "math" })
    expect(await far.result()).toBe(25)
    expect(roles).toEqual(["client"])
    expect((await handle.describe()).status).toBe("running")
    // No worker of the queue "orders" has the activity of the workflow.
    runWorker({ taskQueue: "orders", activities: [square] })
    expect(await handle.result()).toBe(16)
  })

  it("leave activities of another task queue to another process", async () => {
    const script = fileURLToPath(new URL("activities-worker-process.ts", import.meta.url))
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, join(folder, "app.db")], { stdio: ["pipe", "pipe", "inherit"] })
    const output = text(child.stdout)
    ending.push(async () => child.kill())
    const client = newClient()
    const waiting = client.activity<string>("whereAmI", { input: "first", taskQueue: "gpu" })
    const asking = workflow("asking", (ctx: WorkflowContext, word: string) => ctx.activity("whereAmI", { input: word, taskQueue: "gpu" }))
    runWorker({ taskQueue: "orders", workflows: [asking] })
    const handle = await client.start(asking, { input: "second", taskQueue: "orders" })
    expect(await waiting).toEqual({ word: "first", pid: child.pid })
    expect(await handle.result()).toEqual({ word: "second", pid: child.pid })
    child.stdin.end()
    await once(child, "exit")
    expect([await output, child.exitCode]).toEqual(["shut down\n", 0])
  }, 30_000)
})

describe("a worker", () => {
  it("resolves its run after the shutdown, and runs once", async () => {
    const worker = new WorkflowWorker({ store: memory(), workflows: [squareOf] })
    const run = worker.run()
    expect(worker.run()).toBe(run)
    await worker.shutdown()
    expect(await run).toBeUndefined()
    const early = new WorkflowWorker({ store: memory() })
    await early.shutdown()
    await expect(early.run()).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
  })

  it("rejects its run if the store cannot be opened, and refuses wrong options at once", async () => {
    const worker = new WorkflowWorker({ store: sqlite(folder) })
    await expect(worker.run()).rejects.toMatchObject({ code: "DATABASE_UNREADABLE" })
    await worker.shutdown()
    expect(() => new WorkflowWorker({ store: memory(), maxTaskQueueActivitiesPerSecond: 0 })).toThrow("give a number above 0")
    expect(() => new WorkflowWorker({ store: memory(), taskQueue: "two words" })).toThrow("task queue")
    expect(() => new WorkflowWorker({ store: memory(), taskQueue: [] })).toThrow("taskQueue")
    await expect(new EdgeWorker({ store: memory() }).run()).rejects.toThrow("createWorkflowRunner")
  })

  it("rejects its run if its database file is deleted", async () => {
    const told: string[] = []
    const worker = new WorkflowWorker({ store: store(), workflows: [squareOf], log: silentLogger, onStoreGone: ({ code }) => told.push(code) })
    const run = worker.run()
    const client = newClient()
    await client.start(squareOf, { workflowId: "i", input: 1 })
    await expect.poll(async () => (await client.describe("i")).detailedStatus).not.toBe("queued")
    for (const file of readdirSync(folder)) rmSync(join(folder, file))
    await expect(run).rejects.toMatchObject({ code: "DATABASE_GONE" })
    expect(told).toEqual(["DATABASE_GONE"])
    await worker.shutdown()
  })

  it("executes only what is in its task queue", async () => {
    const shared = memory()
    const started: string[] = []
    const named = workflow("named", async (ctx: WorkflowContext) => void started.push(ctx.instance.id))
    const worker = new WorkflowWorker({ store: shared, taskQueue: "mine", workflows: [named] })
    void worker.run()
    const client = new WorkflowClient(shared)
    await client.start(named, { workflowId: "other", taskQueue: "other" })
    const mine = await client.start(named, { workflowId: "mine", taskQueue: "mine" })
    await mine.result()
    expect(started).toEqual(["mine"])
    expect((await client.why("other")).because.join()).toContain('task queue "other"')
    await client.close()
    await worker.shutdown()
  })

  it("begins no more activities in a second than its rate says", async () => {
    const begun: number[] = []
    const tick = defineActivity("tick", async () => void begun.push(performance.now()))
    const many = workflow("many", async (ctx: WorkflowContext) => {
      await Promise.all([1, 2, 3].map(() => ctx.activity(tick)))
    })
    const shared = memory()
    const worker = new WorkflowWorker({ store: shared, workflows: [many], activities: [tick], maxTaskQueueActivitiesPerSecond: 2.5 })
    void worker.run()
    const client = new WorkflowClient(shared)
    await (await client.start(many)).result()
    // Three in 1.2 seconds are 2.5 in one second.
    await (await client.start(many)).result()
    expect(begun).toHaveLength(6)
    expect(begun[3]! - begun[0]!).toBeGreaterThan(1_000)
    await client.close()
    await worker.shutdown()
  })
})

it("an engine that only runs activities executes the workflows of a store unless another process should", async () => {
  await using first = await Perdure.open({ store: store(), activities: [square] })
  await using second = await Perdure.open({ store: store(), workflows: [squareOf] })
  await using third = await Perdure.open({ store: memory(), activities: [square] })
  await using forced = await Perdure.open({ store: sqlite(":memory:"), activities: [square] })
  expect([first.role, second.role, third.role, forced.role]).toEqual(["client", "worker", "worker", "worker"])
})

describe("a client", () => {
  it("connects at its first call, is closed once, and leaves an engine that was given open", async () => {
    const broken = new WorkflowClient(sqlite(folder))
    const handle = broken.getHandle("order-1")
    await expect(handle.result()).rejects.toMatchObject({ code: "DATABASE_UNREADABLE" })
    await broken.close()
    await expect(broken.list()).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
    const engine = await Perdure.open({ store: memory(), workflows: [squareOf], activities: [square] })
    const client = new WorkflowClient(engine)
    expect(await (await client.start(squareOf, { input: 3 })).result()).toBe(9)
    await client.close()
    expect((await engine.list()).instances).toHaveLength(1)
    await engine.close()
  })

  it("works over HTTP", async () => {
    const engine = await Perdure.open({ store: memory(), workflows: [processOrder], activities: [...new Shop().activities, square], log: silentLogger })
    const server = await serve(engine, { port: 0, token: "secret", log: silentLogger })
    const client = new WorkflowClient(server.url, { token: "secret" })
    const handle = await client.start(processOrder, { workflowId: "o", input: { id: "o", items: [] } })
    await expect.poll(() => handle.query("status").catch(() => undefined)).toMatchObject({ step: "payment" })
    await handle.signal("payment", { amount: 1 })
    expect(await handle.result()).toMatchObject({ status: "shipped" })
    expect(await client.activity(square, { input: 5 })).toBe(25)
    await client.close()
    await server.close()
    await engine.close()
  })
})

describe("in virtual time", () => {
  it("an order that is not paid within a day cancels its reservation", async () => {
    const shop = new Shop()
    await using engine = await createTestEngine({ workflows: [processOrder], activities: shop.activities })
    const handle = await new WorkflowClient(engine).start(processOrder, { input: { id: "1", items: ["lamp"] } })
    await engine.skip("23h")
    expect((await handle.describe()).detailedStatus).toBe("waiting")
    await engine.crash()
    await engine.skip("61m")
    expect(await handle.result()).toEqual({ status: "cancelled" })
    expect(shop.done).toEqual(["reserved lamp for 1", "cancelled r-1"])
  })

  it("a customer is billed each month for ten years, across crashes", async () => {
    await using engine = await createTestEngine({ workflows: [monthlyBilling], activities: [charge] })
    const handle = await new WorkflowClient(engine).start(monthlyBilling, { workflowId: "ada", input: "Ada" })
    for (let year = 0; year < 10; year++) {
      await engine.skip("365d")
      await engine.crash()
    }
    expect(await handle.query("month")).toBe(122)
    await handle.signal("stop")
    await engine.skip("30d")
    expect(await handle.result()).toBe(122)
    const { steps } = await handle.describe()
    expect(steps.at(-2)).toMatchObject({ id: "charge#122", type: "activity", result: "Ada paid for month 122" })
    expect(steps.at(-1)).toMatchObject({ id: "sleep#122", type: "sleep", status: "completed" })
  })

  it("sleeps need no name, and keep one that they have", async () => {
    const sleeper = workflow("sleeper", async (ctx: WorkflowContext) => {
      await ctx.sleep("1h")
      await ctx.sleep(1_000, {})
      await ctx.sleep("cool-off", "1d")
      await ctx.sleepUntil("2026-02-01T00:00:00Z")
      await ctx.sleepUntil(new Date("2026-03-01T00:00:00Z"), {})
      await ctx.sleepUntil("spring", new Date("2026-04-01T00:00:00Z"))
      return [new Date(ctx.now()).toISOString(), ctx.startTime.toISOString(), ctx.currentStep, await ctx.condition(() => true, { timeout: "1s" })]
    })
    await using engine = await createTestEngine({ workflows: [sleeper] })
    const handle = await new WorkflowClient(engine).start(sleeper, { workflowId: "s" })
    await engine.skipToEnd("s")
    expect(await handle.result()).toEqual(["2026-04-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "spring", true])
    expect((await handle.describe()).steps.map(({ id }) => id)).toEqual(["sleep", "sleep#2", "cool-off", "sleep#3", "sleep#4", "spring", "condition"])
  })

  it("a loop begins again with continueAsNew, and signals are checked if they are declared", async () => {
    const counter = workflow("counter", async (ctx: WorkflowContext<{ add: number }, number>, total: number): Promise<number> => {
      const next = total + (await ctx.waitForSignal("add"))
      return next < 3 ? ctx.continueAsNew(next) : next
    })
    const strict = workflow("strict", { signals: {} }, async (ctx) => ctx.sleep("1d"))
    await using engine = await createTestEngine({ workflows: [counter, strict] })
    const client = new WorkflowClient(engine)
    const handle = await client.start(counter, { input: 0 })
    for (const n of [1, 2]) await handle.signal("add", n)
    expect([await handle.result(), (await handle.describe()).run]).toEqual([3, 2])
    const other = await client.start(strict, { workflowId: "strict" })
    await expect(client.getHandle("strict").signal("add", 1)).rejects.toMatchObject({ code: "UNKNOWN_EVENT" })
    expect((await other.cancel()).accepted).toBe(true)
  })
})
