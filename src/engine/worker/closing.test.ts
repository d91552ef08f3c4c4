import { expect, it } from "vitest"
import { workflow, type Context } from "../../index.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { Store, StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { Engine } from "../engine.ts"

const moments = async (count = 10) => {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => macrotask(resolve))
}

const changed = (inner: StoreProvider, change: (store: Store) => Partial<Store>): StoreProvider => ({
  name: "changed",
  open: async (context) => {
    const store = await inner.open(context)
    const overrides = change(store)
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(name in overrides ? overrides : target, name)
        return typeof value === "function" ? (value.bind(name in overrides ? overrides : target) as unknown) : value
      },
    })
  },
})

const quick = workflow("quick", async (ctx: Context) => ctx.do("a", () => 1))
const waiting = workflow("waiting", async (ctx: Context) => {
  await ctx.do("a", () => 1)
  return ctx.waitForEvent("x")
})
const endless = workflow("endless", async (ctx: Context) => ctx.do("a", () => new Promise<never>(() => undefined)))

it("every start that is in progress when the engine closes gets a true answer", async () => {
  const store = memory()
  const engine = await Engine.open({ host: new SimulatedHost(), store, workflows: [quick], options: {} })
  const started: string[] = []
  const refused: string[] = []
  for (let i = 0; i < 12; i++) {
    const id = `i${i}`
    void engine.start(quick, { id }).then(
      () => started.push(id),
      () => refused.push(id),
    )
    await Promise.resolve()
  }
  await engine.close()
  await moments()
  expect([...started, ...refused].toSorted()).toEqual(Array.from({ length: 12 }, (_, i) => `i${i}`).toSorted())
  const next = await Engine.open({ host: new SimulatedHost(), store, workflows: [quick], options: {} })
  expect((await next.list()).instances.map(({ id }) => id).toSorted()).toEqual(started.toSorted())
  await next.close()
})

it("a start that is not in a turn yet is refused when the engine dies", async () => {
  const engine = await Engine.open({ host: new SimulatedHost(), store: memory(), workflows: [quick], options: {} })
  const start = engine.start(quick, { id: "i" })
  while (!engine.components.worker.isResident("i")) await Promise.resolve()
  engine.kill()
  await expect(start).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
})

it("no timer is left when the store fails to release instances", async () => {
  let isBroken = false
  const store = changed(memory(), ({ journal }) => ({
    journal: new Proxy(journal, {
      get: (target, name) => {
        if (isBroken && (name === "release" || name === "commit")) return () => Promise.reject(new Error("disk full"))
        const value: unknown = Reflect.get(target, name)
        return typeof value === "function" ? (value.bind(target) as unknown) : value
      },
    }),
  }))
  const host = new SimulatedHost()
  const engine = await Engine.open({ host, store, workflows: [waiting], options: {} })
  for (const id of ["i", "j"]) await engine.start(waiting, { id })
  await moments()
  isBroken = true
  const { worker } = engine.components
  worker.onIdle(worker.residents.get("i")!)
  await moments()
  await expect(engine.close()).rejects.toThrow("disk full")
  await host.advanceTo(host.now() + 600_000, () => moments(2))
  expect(host.nextTimerAt()).toBeUndefined()
})

it("an engine that is closed while it becomes the worker does not begin to execute", async () => {
  const gate = new Gate()
  let asked = 0
  const store = changed(memory(), () => ({
    role: "client",
    standBy: async () => {
      asked++
      await gate.passed
      return "worker"
    },
  }))
  const host = new SimulatedHost()
  const engine = await Engine.open({ host, store, workflows: [quick], options: {} })
  await host.advanceTo(host.now() + 300, () => moments(2))
  expect(asked).toBe(1)
  await engine.close()
  gate.open()
  await moments()
  expect(engine.role).toBe("client")
  await engine.components.worker.start()
  expect([engine.role, host.nextTimerAt()]).toEqual(["client", undefined])
})

it("instances that wait for their release when the engine closes are released: the next worker finds no crash", async () => {
  const store = memory()
  const engine = await createTestEngine({ workflows: [endless], store })
  await engine.start(endless, { id: "i" })
  await engine.settle()
  const { worker } = engine.current.components
  worker.onLost(worker.residents.get("i")!, new Error("a commit failed"))
  await engine.close()
  await using next = await createTestEngine({ workflows: [endless], store, seed: "two", startAt: engine.host.now() })
  await next.skip("1s")
  expect((await next.get("i").history()).entries.map(({ type }) => type)).toEqual(["run.started", "step.started", "step.started"])
})

it.each([{}, { maxConcurrentSteps: 1 }])("a running attempt may finish with its nested steps when the engine closes: %j", async (options) => {
  const gate = new Gate()
  const nested = workflow("nested", async (ctx: Context) =>
    ctx.do("outer", async ({ step }) => {
      await gate.passed
      return step.do("inner", () => 1)
    }),
  )
  const store = memory()
  const host = new SimulatedHost()
  const engine = await Engine.open({ host, store, workflows: [nested], options })
  await engine.start(nested, { id: "i" })
  await moments()
  const closing = engine.close()
  await moments()
  gate.open()
  await moments()
  // Long before the drain time ends.
  await host.advanceTo(host.now() + 100, () => moments(2))
  await expect(Promise.race([closing.then(() => "closed"), moments(50).then(() => "waiting")])).resolves.toBe("closed")
  const next = await Engine.open({ host: new SimulatedHost(), store, workflows: [], options: {}, role: "client" })
  expect((await next.get("i").history()).entries.map(({ type, data }) => [type, data["id"]])).toContainEqual(["step.completed", "outer"])
  await next.close()
})
