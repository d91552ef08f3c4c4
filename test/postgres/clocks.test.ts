// The PostgreSQL server has a clock, and so has each worker and client. These tests set each clock while engines work.

import { afterAll, afterEach, describe, expect, it } from "vitest"
import type { Context } from "../../src/core/workflow/context.ts"
import { workflow } from "../../src/core/workflow/workflow.ts"
import { Engine } from "../../src/engine/engine.ts"
import { SimulatedHost } from "../../src/hosts/simulated/simulated-host.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import { createTestEngine, type TestEngine } from "../../src/testing/test-engine.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const startAt = Date.parse("2026-03-02T09:00:00Z")
const minuteMs = 60_000
const hourMs = 60 * minuteMs

const sleeper = workflow("sleeper", async (ctx: Context) => {
  await ctx.sleep("nap", "30m")
  return "slept"
})
const waiter = workflow("waiter", async (ctx: Context) => ctx.waitForEvent("answer", { timeout: "30m", default: "nobody answered" }))
const brief = workflow("brief", async (ctx: Context) => ctx.waitForEvent("answer", { timeout: "9s", default: "nobody answered" }))
const waker = workflow("waker", async (ctx: Context, at: number) => {
  await ctx.sleepUntil("morning", at)
  return "awake"
})
const slow = workflow("slow", async (ctx: Context) => {
  const forEver = () => new Promise<string>(() => {})
  return ctx.do("work", forEver, { timeout: "20s", retry: { maxAttempts: 1 } }).catch(() => "given up")
})
const workflows = [sleeper, waiter, brief, waker, slow]

const database = new TestDatabase()
const engines: (TestEngine | Engine)[] = []
afterEach(async () => {
  for (const engine of engines.splice(0).toReversed()) await engine.close()
  database.reset()
})
afterAll(() => database.drop())

/** The server's clock advances with the worker's time, and only the test sets it. */
async function open(options: { readonly workflows?: typeof workflows } = {}) {
  const server = { setMs: 0, now: () => startAt + server.setMs }
  const onServerClock = (store: StoreProvider): StoreProvider => ({ ...store, open: (context) => store.open({ ...context, now: () => server.now() }) })
  const store = onServerClock(database.store(await database.emptySchema()))
  const engine = await createTestEngine({ workflows, store, startAt, lease: "30s", sweep: "10s", ...options })
  server.now = () => startAt + server.setMs + engine.host.monotonicMs()
  engines.push(engine)
  /** The instances that have ended. */
  const over = async () => {
    await engine.settle()
    return (await engine.list({ status: "completed" })).instances.map(({ id }) => id).toSorted()
  }
  return { engine, server, over }
}

async function startAll(engine: TestEngine) {
  await engine.start(sleeper, { id: "sleeper" })
  await engine.start(waiter, { id: "waiter" })
  await engine.start(waker, { id: "waker", input: startAt + 30 * minuteMs })
  await engine.settle()
}

/** Work that no call of a store waits for takes real time. */
async function until(engine: TestEngine, isSo: () => Promise<boolean>) {
  for (let tries = 0; !(await isSo()) && tries < 1_000; tries++) await engine.settle()
}

const leases = async (engine: TestEngine) => (await engine.current.components.store.directory.workers()).map(({ worker, until }) => ({ worker, until }))

describe.each([
  ["forward by an hour", hourMs],
  ["back by a minute", -minuteMs],
  ["back by an hour", -hourMs],
])("the wall clock of a worker that is set %s", (_, byMs) => {
  it("ends no sleep and no wait early or late, and does not hold up renewals", async () => {
    const { engine, server, over } = await open()
    await startAll(engine)
    await engine.skip("1m")
    engine.host.setWallClock(byMs)
    expect(engine.current.components.host.now()).toBe(server.now())
    for (let minute = 1; minute < 29; minute++) {
      await engine.skip("1m")
      const [lease] = await leases(engine)
      expect(lease?.until).toBeGreaterThan(server.now() + 15_000)
    }
    await engine.skip(minuteMs - 1)
    expect(await over()).toEqual([])
    await engine.skip(1)
    expect(await over()).toEqual(["sleeper", "waiter", "waker"])
  })

  it("leaves timers in memory alone", async () => {
    const { engine, over } = await open()
    await engine.start(brief, { id: "brief" })
    await engine.settle()
    engine.host.setWallClock(byMs)
    await engine.skip(8_999)
    expect(await over()).toEqual([])
    await engine.skip(1)
    expect(await over()).toEqual(["brief"])
  })

  it("has no effect where it is that of a client", async () => {
    const { engine, server } = await open()
    const host = new SimulatedHost({ startAt })
    const client = await Engine.open({ host, store: engine.sharedStore, workflows, options: {}, role: "client" })
    engines.push(client)
    host.setWallClock(byMs)
    await engine.skip("20m")
    host.freeze(20 * minuteMs)
    const handle = await client.start(sleeper, { id: "i" })
    expect((await handle.describe()).createdAt).toBe(server.now())
    // The worker is notified over its own connection.
    await until(engine, async () => (await handle.status()) === "sleeping")
    await engine.skip("30m")
    expect(await engine.get("i").status()).toBe("completed")
  })
})

describe("the server's clock that is set", () => {
  it.each([
    ["forward", hourMs],
    ["back", -hourMs],
  ])("%s is followed with the next renewal, and renewals go on", async (_, byMs) => {
    const { engine, server } = await open()
    await engine.skip("1m")
    server.setMs += byMs
    await engine.skip("10s")
    expect(engine.current.components.host.now()).toBe(server.now())
    for (let minute = 0; minute < 5; minute++) {
      await engine.skip("1m")
      const [lease] = await leases(engine)
      expect(lease?.until).toBeGreaterThan(server.now() + 15_000)
      expect(lease?.until).toBeLessThanOrEqual(server.now() + 30_000)
    }
  })

  it.each([
    ["forward", hourMs],
    ["back", -hourMs],
  ])("%s is noticed with the next claim, before any renewal", async (_, byMs) => {
    const { engine, server } = await open()
    await engine.skip("1m")
    const client = await Engine.open({ host: new SimulatedHost({ startAt }), store: engine.sharedStore, workflows, options: {}, role: "client" })
    engines.push(client)
    server.setMs += byMs
    expect(engine.current.components.host.now()).not.toBe(server.now())
    const handle = await client.start(waiter, { id: "waiter" })
    await until(engine, async () => (await handle.status()) === "waiting")
    await until(engine, async () => engine.current.components.host.now() === server.now())
    expect(engine.current.components.host.now()).toBe(server.now())
  })

  it("forward ends what is due by then", async () => {
    const { engine, server, over } = await open()
    await startAll(engine)
    server.setMs += hourMs
    await engine.skip("10s")
    expect(await over()).toEqual(["sleeper", "waiter", "waker"])
  })

  it("back holds up neither whoever waits for a result nor a step that takes too long", async () => {
    const { engine, server } = await open()
    const told: unknown[] = []
    const { current } = engine
    await current.start(waiter, { id: "waiter" })
    await current.start(slow, { id: "slow" })
    await engine.settle()
    void current
      .get("waiter")
      .result({ timeout: "20s" })
      .catch((error: unknown) => told.push(error))
    server.setMs -= hourMs
    await engine.skip("15s")
    expect(told).toEqual([])
    await engine.skip("5s")
    await engine.settle()
    expect(told).toMatchObject([{ code: "RESULT_TIMEOUT" }])
    expect(await engine.get("slow").status()).toBe("completed")
  })

  it("is followed by a client that has been open for long", async () => {
    const { engine, server } = await open()
    const host = new SimulatedHost({ startAt })
    const client = await Engine.open({ host, store: engine.sharedStore, workflows, options: {}, role: "client" })
    engines.push(client)
    await engine.skip("1h")
    host.freeze(hourMs)
    server.setMs -= 7_000
    // The first call notices the step of the clock, and the later calls know it.
    await client.start(sleeper, { id: "first" })
    await until(engine, async () => client.components.host.now() === server.now())
    const handle = await client.start(sleeper, { id: "second" })
    expect((await handle.describe()).createdAt).toBe(server.now())
  })
})

it("a dead worker is not waited for where its lease ends far ahead of the server's clock", async () => {
  const { engine, server } = await open()
  const { sharedStore } = engine
  server.setMs += hourMs
  await engine.skip("10s")
  expect((await leases(engine))[0]?.until).toBeGreaterThan(startAt + hourMs)
  const dead = engine.current.components.worker.workerName
  await engine.start(waiter, { id: "waiter" })
  await engine.settle()
  engine.current.kill()
  server.setMs -= hourMs
  const host = new SimulatedHost({ startAt, seed: "other" })
  const other = await Engine.open({ host, store: sharedStore, workflows, options: { lease: "30s", sweep: "10s" } })
  engines.push(other)
  const { directory } = other.components.store
  expect((await directory.workers()).find(({ worker }) => worker === dead)?.until ?? 0).toBeLessThanOrEqual(server.now())
  await other.get("waiter").sendEvent("answer", "yes")
  expect(await other.get("waiter").result()).toBe("yes")
})

it("a lease that was renewed a moment ahead of the server's clock is one", async () => {
  const { engine, server } = await open()
  const { journal, directory } = engine.current.components.store
  await engine.start(waiter, { id: "waiter" })
  await engine.settle()
  const { owner } = (await directory.get("waiter"))!
  server.setMs -= 900
  await journal.renew("another", 30_000)
  await journal.claim({ worker: "another", offers: [{ workflow: "waiter", version: "1" }], limit: 1, leaseMs: 30_000 })
  expect((await directory.get("waiter"))?.owner).toBe(owner)
})
