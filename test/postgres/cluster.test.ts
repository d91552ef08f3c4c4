// Several engines on one database, as in several processes: each has its own connections, notifications and memory. Time is virtual.

import { workflow } from "perdure"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { macrotask } from "../../src/hosts/simulated/simulated-host.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { ClusterBed } from "./cluster-bed.ts"

const database = new TestDatabase()
const bed = new ClusterBed(database)
const cluster = bed.open
afterEach(() => bed.close())
afterAll(() => database.drop())

const lease = 30_000

describe("several engines on one database", () => {
  it("a client's instances are executed by a worker, and it learns of the result by a notification: no time passes", async () => {
    const double = workflow("double", async (ctx, input: number) => ctx.do("double", () => input * 2))
    const {
      engines: [worker, client],
    } = await cluster([double], ["worker", "client"])
    expect([worker!.role, client!.role]).toEqual(["worker", "client"])
    const handle = await client!.start(double, { id: "i", input: 21 })
    expect(await handle.result()).toBe(42)
  })

  it("an event from another process wakes the instance at once, in the memory of its worker or in the store", async () => {
    const echo = workflow("echo", (ctx) => ctx.waitForEvent("word"))
    const {
      engines: [worker, client],
      settle,
    } = await cluster([echo], ["worker", "client"])
    await worker!.start(echo, { id: "i" })
    await settle()
    await client!.get("i").sendEvent("word", "hello")
    expect(await client!.get("i").result()).toBe("hello")
  })

  it("each instance is executed by one of the workers, and each step once", async () => {
    const calls = new Map<string, number>()
    const flow = workflow("flow", async (ctx) => {
      for (const step of ["a", "b", "c"]) {
        await ctx.do(step, () => {
          const call = `${ctx.instance.id} ${step}`
          calls.set(call, (calls.get(call) ?? 0) + 1)
        })
      }
    })
    const { engines: all } = await cluster([flow], ["worker", "worker", "worker", "client"])
    const client = all[3]!
    await client.startBatch(Array.from({ length: 60 }, (_, n) => ({ workflow: flow, id: `i${n}`, input: undefined })))
    await Promise.all(Array.from({ length: 60 }, (_, n) => client.get(`i${n}`).result()))
    expect(calls.size).toBe(180)
    expect([...calls.values()].every((count) => count === 1)).toBe(true)
  })

  it("what a worker that is gone had is taken over within two leases, and counts as a crash", async () => {
    const flow = workflow("flow", async (ctx) => {
      await ctx.do("first", () => 1)
      await ctx.sleep("nap", "5s")
      return ctx.do("second", () => "done")
    })
    const {
      engines: [first, second],
      settle,
      skip,
    } = await cluster([flow], ["worker", "worker"], { lease })
    await first!.start(flow, { id: "i" })
    await settle()
    expect((await second!.describe("i")).status).toBe("sleeping")
    first!.kill()
    await skip(2 * lease)
    expect(await second!.get("i").result()).toBe("done")
  })

  it("a worker that closes gives back what it has: another goes on at once, and it is no crash", async () => {
    const seen: string[] = []
    const flow = workflow("flow", async (ctx) => {
      await ctx.sleep("nap", "5s")
      return ctx.do("after", ({ attempt }) => seen.push(`attempt ${attempt}`))
    })
    const {
      engines: [first, second],
      settle,
      skip,
    } = await cluster([flow], ["worker", "worker"], { lease })
    await first!.start(flow, { id: "i" })
    await settle()
    await first!.close()
    await skip(5_000)
    await second!.get("i").result()
    expect(seen).toEqual(["attempt 1"])
    const { entries } = await second!.get("i").history()
    expect(entries.map(({ type }) => type)).not.toContain("recovered")
  })

  it("a limit holds over all workers", async () => {
    let running = 0
    let most = 0
    const flow = workflow("flow", { concurrency: { limit: 2 } }, async (ctx) => {
      await ctx.do("work", async () => {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => macrotask(resolve))
        running--
      })
    })
    const { engines: all } = await cluster([flow], ["worker", "worker", "client"])
    const client = all[2]!
    await client.startBatch(Array.from({ length: 12 }, (_, n) => ({ workflow: flow, id: `i${n}`, input: undefined })))
    await Promise.all(Array.from({ length: 12 }, (_, n) => client.get(`i${n}`).result()))
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(2)
  })

  it("a schedule fires once for each of its times, whoever looks", async () => {
    const flow = workflow("flow", async () => "fired")
    const {
      engines: [first],
      skip,
    } = await cluster([flow], ["worker", "worker", "worker"])
    await first!.schedules.create("tick", { workflow: flow, every: "10s" })
    await skip(35_000)
    expect((await first!.list({ workflow: "flow" })).instances).toHaveLength(3)
  })

  it("ten workers that have nothing to do send fewer than five statements a second, all of them together", async () => {
    const flow = workflow("flow", async () => undefined)
    const { settle, skip } = await cluster(
      [flow],
      Array.from({ length: 10 }, () => "worker" as const),
    )
    await settle()
    const before = database.sent
    const seconds = 120
    await skip(seconds * 1_000)
    expect((database.sent - before) / seconds).toBeLessThan(5)
  })
})
