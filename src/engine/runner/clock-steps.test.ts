// Somebody sets the wall clock of the machine while an engine works.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { Context } from "../../core/workflow/context.ts"
import { workflow } from "../../core/workflow/workflow.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { sqlite } from "../../stores/sqlite/sqlite-provider.ts"
import { createTestEngine, type TestEngineOptions } from "../../testing/test-engine.ts"
import { Engine } from "../engine.ts"
import { overriding } from "../method-overrides.ts"

const minuteMs = 60_000

const sleeper = workflow("sleeper", async (ctx: Context, ms: number) => {
  await ctx.sleep("nap", ms)
  return "slept"
})
const waiter = workflow("waiter", async (ctx: Context, ms: number) => ctx.waitForEvent("answer", { timeout: ms, default: "nobody answered" }))
const retrier = workflow("retrier", async (ctx: Context, ms: number) =>
  ctx.do(
    "try",
    ({ attempt }) => {
      if (attempt === 1) throw new Error("not yet")
      return "done at last"
    },
    { retry: { initialInterval: ms, jitter: 0 } },
  ),
)
const waker = workflow("waker", async (ctx: Context, at: number) => {
  await ctx.sleepUntil("morning", at)
  return "awake"
})

function countingClaims(provider: StoreProvider, claims: { count: number }): StoreProvider {
  return {
    ...provider,
    open: async (context) => {
      const opened = await provider.open(context)
      const { journal } = opened
      return overriding(opened, { journal: overriding(journal, { claim: (request) => (claims.count++, journal.claim(request)) }) })
    },
  }
}

describe.each([
  ["memory", memory],
  ["sqlite", () => sqlite(":memory:")],
] as const)("on %s", (_, store) => {
  const open = (options: Partial<TestEngineOptions> = {}) => createTestEngine({ workflows: [sleeper, waiter, retrier, waker], store: store(), ...options })

  /** The ids of the completed instances. */
  const over = async (engine: Awaited<ReturnType<typeof open>>) => {
    await engine.settle()
    return (await engine.list({ status: "completed" })).instances.map(({ id }) => id).toSorted()
  }

  // An instance that sleeps for longer than ten seconds leaves memory.
  describe.each([
    ["in memory", 9_000],
    ["not in memory", 30 * minuteMs],
  ])("an instance that is %s", (__, ms) => {
    it("sleeps, waits and retries last no longer when the clock is set back", async () => {
      await using engine = await open()
      await engine.start(sleeper, { id: "sleeper", input: ms })
      await engine.start(waiter, { id: "waiter", input: ms })
      await engine.start(retrier, { id: "retrier", input: ms })
      await engine.skip(ms / 3)
      engine.host.setWallClock(-minuteMs)
      await engine.skip((ms * 2) / 3 - 1)
      expect(await over(engine)).toEqual([])
      await engine.skip(1)
      expect(await over(engine)).toEqual(["retrier", "sleeper", "waiter"])
    })

    it("sleepUntil lasts until a clock that was set back shows the named time", async () => {
      await using engine = await open()
      await engine.start(waker, { id: "waker", input: engine.now() + ms })
      await engine.start(sleeper, { id: "sleeper", input: ms })
      await engine.skip(ms / 3)
      engine.host.setWallClock(-minuteMs)
      await engine.skip((ms * 2) / 3)
      expect(await over(engine)).toEqual(["sleeper"])
      await engine.skip(minuteMs - 1)
      expect(await over(engine)).toEqual(["sleeper"])
      await engine.skip(1)
      expect(await over(engine)).toEqual(["sleeper", "waker"])
    })

    it("sleepUntil ends when a clock that was set forward shows the named time", async () => {
      await using engine = await open({ lease: "15s" })
      await engine.start(waker, { id: "waker", input: engine.now() + ms })
      await engine.skip(1_000)
      engine.host.setWallClock(40 * minuteMs)
      await engine.skip(5_000)
      expect(await over(engine)).toEqual(["waker"])
    })
  })

  it("a clock that is set back, and then right again, delays sleepUntil by no more than a second", async () => {
    await using engine = await open()
    await engine.start(waker, { id: "waker", input: engine.now() + 30 * minuteMs })
    engine.host.setWallClock(-20 * minuteMs)
    await engine.skip("35m")
    expect(await over(engine)).toEqual([])
    engine.host.setWallClock(20 * minuteMs)
    await engine.skip("1s")
    expect(await over(engine)).toEqual(["waker"])
  })

  it("a wait times out while a sleepUntil with an earlier instant still awaits the wall clock", async () => {
    const both = workflow("both", async (ctx: Context, at: number) =>
      Promise.race([ctx.sleepUntil("morning", at).then(() => "morning"), ctx.waitForEvent("call", { timeout: "31m", default: "no call" })]),
    )
    await using engine = await createTestEngine({ workflows: [both], store: store() })
    const handle = await engine.start(both, { input: engine.now() + 30 * minuteMs })
    await engine.settle()
    engine.host.setWallClock(-10 * minuteMs)
    await engine.skip("31m")
    expect(await handle.result()).toBe("no call")
  })

  it("an instance with limits that awaits an instant is not claimed repeatedly", async () => {
    const limited = workflow("limited", { concurrency: 1 }, async (ctx: Context, at: number) => {
      await ctx.sleepUntil("morning", at)
      return "awake"
    })
    const claims = { count: 0 }
    await using engine = await createTestEngine({ workflows: [limited], store: countingClaims(store(), claims) })
    const handle = await engine.start(limited, { input: engine.now() + 30 * minuteMs })
    await engine.settle()
    engine.host.setWallClock(-10 * minuteMs)
    claims.count = 0
    await engine.skip("39m")
    expect(claims.count).toBeLessThan(20)
    expect(await handle.status()).toBe("sleeping")
    await engine.skip("1m")
    expect(await handle.result()).toBe("awake")
  })

  it("instances that await an instant are not claimed repeatedly, also if they do not all fit in memory", async () => {
    const claims = { count: 0 }
    await using engine = await createTestEngine({ workflows: [waker], store: countingClaims(store(), claims), maxResidentInstances: 10 })
    const at = engine.now() + 30 * minuteMs
    for (let i = 0; i < 30; i++) await engine.start(waker, { id: `waker-${i}`, input: at })
    await engine.settle()
    engine.host.setWallClock(-10 * minuteMs)
    await engine.skip("29m")
    claims.count = 0
    await engine.skip("5m")
    // Each instance is claimed once a minute, and the sweeps claim as well.
    expect(claims.count).toBeLessThan(200)
    await engine.skip("6m")
    expect(await over(engine)).toHaveLength(30)
  })

  it("a clock that is set back, and right again before an instant, does not delay a busy instance", async () => {
    const racer = workflow("racer", async (ctx: Context, at: number) =>
      Promise.race([ctx.sleepUntil("morning", at).then(() => "morning"), ctx.do("work", () => new Promise<string>(() => {}))]),
    )
    await using engine = await createTestEngine({ workflows: [racer], store: store() })
    const at = engine.now() + 30 * minuteMs
    engine.host.setWallClock(-60 * minuteMs)
    const handle = await engine.start(racer, { input: at })
    await engine.skip("20m")
    engine.host.setWallClock(60 * minuteMs)
    await engine.skip("10m")
    await engine.skip("2s")
    expect(await handle.status()).toBe("completed")
  })

  it("a start at an instant waits for the wall clock", async () => {
    await using engine = await open()
    engine.host.setWallClock(-60 * minuteMs)
    const handle = await engine.start(sleeper, { input: 1_000, startAt: engine.now() - 30 * minuteMs })
    await engine.skip("29m")
    expect(await handle.status()).toBe("queued")
    await engine.skip("2m")
    expect(await handle.status()).toBe("completed")
  })

  it("a lease is renewed on time", async () => {
    const renewals: number[] = []
    const inner = store()
    const watched = {
      ...inner,
      open: async (context: Parameters<typeof inner.open>[0]) => {
        const opened = await inner.open(context)
        const { journal } = opened
        const renew: typeof journal.renew = (...given) => {
          renewals.push(context.monotonicMs?.() ?? -1)
          return journal.renew(...given)
        }
        return overriding(opened, { journal: overriding(journal, { renew }) })
      },
    }
    await using engine = await createTestEngine({ workflows: [sleeper], store: watched, lease: "30s" })
    engine.host.setWallClock(-60 * minuteMs)
    await engine.skip("1m")
    expect(renewals).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000])
  })

  it("a schedule fires when the wall clock shows its time, however often the clock was set", async () => {
    await using engine = await open({ startAt: Date.parse("2026-03-02T09:00:00Z") })
    await engine.schedules.create("hourly", { workflow: sleeper, input: 1_000, cron: "0 * * * *" })
    const fired = async () => (await engine.list({ workflow: "sleeper" })).instances.map(({ id }) => id)
    engine.host.setWallClock(-30 * minuteMs)
    await engine.skip("89m")
    await engine.settle()
    expect(await fired()).toEqual([])
    await engine.skip("1m")
    expect(await fired()).toEqual(["hourly:2026-03-02T10:00:00Z"])
    await engine.skip("30m")
    engine.host.setWallClock(30 * minuteMs)
    await engine.skip("1s")
    expect(await fired()).toEqual(expect.arrayContaining(["hourly:2026-03-02T11:00:00Z"]))
  })
})

describe("a process whose clock was set back, and one that was started after that", () => {
  it("work on the same instances: neither treats starts and events of the other as in the future", async () => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-clocks-"))
    const path = join(folder, "app.db")
    const moments = async () => {
      for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => macrotask(resolve))
    }
    // The instance leaves memory while it waits, so a message has to make it due.
    const limited = workflow("limited", { concurrency: 1 }, async (ctx: Context) => ctx.waitForEvent("answer"))
    const clientHost = new SimulatedHost({ startAt: 60 * minuteMs })
    const client = await Engine.open({ host: clientHost, store: sqlite(path), workflows: [limited], options: {}, role: "client" })
    clientHost.setWallClock(-30 * minuteMs)
    expect(clientHost.aheadMs()).toBe(30 * minuteMs)
    const workerHost = new SimulatedHost({ startAt: 30 * minuteMs })
    const worker = await Engine.open({ host: workerHost, store: sqlite(path), workflows: [limited], options: {} })
    const handle = await client.start(limited, { id: "w" })
    await workerHost.advanceTo(workerHost.now() + 30_000, moments)
    expect(await handle.status()).toBe("waiting")
    await handle.sendEvent("answer", "yes")
    await workerHost.advanceTo(workerHost.now() + 30_000, moments)
    expect(await handle.status()).toBe("completed")
    await client.close()
    await worker.close()
    rmSync(folder, { recursive: true })
  })
})
