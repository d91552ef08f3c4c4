import { expect, it } from "vitest"
import { PerdureError } from "../../core/errors.ts"
import { workflow, type Context } from "../../index.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { Store, StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { sqlite } from "../../stores/sqlite/sqlite-provider.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { Engine } from "../engine.ts"
import { overriding } from "../method-overrides.ts"

const moments = async () => {
  for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => macrotask(resolve))
}

it("a client that waits for a result keeps a timer, and finds the result without any hint", async () => {
  const flow = workflow("flow", async (ctx: Context) => ctx.waitForEvent("word"))
  const shared = memory()
  const withoutHints: StoreProvider = {
    name: "without hints",
    open: async (context) => {
      const { journal, directory, schedules, flow: limits, role } = await shared.open(context)
      return { journal, directory, schedules, flow: limits, role, standBy: async () => role, onHint: () => () => undefined, close: async () => undefined }
    },
  }
  const workerHost = new SimulatedHost()
  const clientHost = new SimulatedHost()
  const worker = await Engine.open({ host: workerHost, store: shared, workflows: [flow], options: {} })
  const client = await Engine.open({ host: clientHost, store: withoutHints, workflows: [flow], options: {}, role: "client" })
  await worker.start(flow, { id: "i" })
  expect(clientHost.nextTimerAt()).toBeUndefined()
  const result = client.get("i").result()
  await moments()
  expect(clientHost.nextTimerAt()).toBeDefined()
  await clientHost.advanceTo(clientHost.now() + 3_500, moments)
  await worker.get("i").sendEvent("word", "hello")
  expect(await worker.get("i").result()).toBe("hello")
  await clientHost.advanceTo(clientHost.now() + 1_000, moments)
  expect(await result).toBe("hello")
  expect(clientHost.nextTimerAt()).toBeUndefined()
  await client.close()
  await worker.close()
})

it.each([
  ["a connection that breaks on the way is no reason to stop waiting", true],
  ["a store that is not there is, and whoever asks is told", false],
])("%s", async (_, isUnknown) => {
  const flow = workflow("flow", async (ctx: Context) => ctx.waitForEvent("word"))
  const shared = memory()
  const broken = new PerdureError("STORE_UNREACHABLE", "it is away", { details: { isUnknown } })
  const away = new PerdureError("STORE_UNREACHABLE", "it is still away", { details: { isUnknown: false } })
  const failures = [broken, away, away]
  const failing: StoreProvider = {
    name: "failing",
    open: async (context) => {
      const store = await shared.open(context)
      const { directory } = store
      const get = async (id: string) => {
        const failure = failures.shift()
        if (failure) throw failure
        return directory.get(id)
      }
      return overriding<Store>(store, { directory: overriding(directory, { get }) })
    },
  }
  const worker = await Engine.open({ host: new SimulatedHost(), store: shared, workflows: [flow], options: {} })
  const host = new SimulatedHost()
  const client = await Engine.open({ host, store: failing, workflows: [flow], options: {}, role: "client" })
  await worker.start(flow, { id: "i" })
  await worker.get("i").sendEvent("word", "hello")
  await worker.get("i").result()
  const result = client
    .get("i")
    .result()
    .catch((error: unknown) => error)
  await moments()
  // Sooner than whoever only looks again now and then.
  await host.advanceTo(host.now() + 500, moments)
  expect(failures).toHaveLength(isUnknown ? 0 : 2)
  expect(await result).toBe(isUnknown ? "hello" : broken)
  await client.close()
  await worker.close()
})

it.each([
  ["memory", memory],
  ["SQLite", () => sqlite(":memory:")],
])("a result that is asked for right after a resume waits, although the resume is still on its way, on %s", async (_, store) => {
  let isBroken = true
  const flow = workflow("flow", async (ctx: Context) => {
    await ctx.do("work", () => 1)
    if (isBroken) await new Promise(() => undefined)
    return "done"
  })
  await using engine = await createTestEngine({ workflows: [flow], store: store() })
  const handle = await engine.start(flow, { id: "i" })
  await engine.skip("1m")
  expect(await handle.status()).toBe("stalled")
  isBroken = false
  expect(await engine.current.resume("i")).toMatchObject({ accepted: true })
  expect(await engine.current.get("i").result({ rejectWhenStalled: true })).toBe("done")
})
