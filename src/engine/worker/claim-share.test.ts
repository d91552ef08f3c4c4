import { expect, it } from "vitest"
import { workflow, type Context } from "../../index.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { Store, StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { Engine } from "../engine.ts"
import { overriding } from "../method-overrides.ts"

const count = 40

async function scene(concurrentSteps: number) {
  const gate = new Gate()
  let running = 0
  let most = 0
  const flow = workflow("flow", async (ctx: Context, n: number) => {
    await ctx.do("work", async () => {
      most = Math.max(most, ++running)
      await gate.passed
      running--
    })
    return n
  })
  const store = memory()
  const host = new SimulatedHost()
  const client = await Engine.open({ host, store, workflows: [flow], options: {}, role: "client" })
  const handles = await Promise.all(Array.from({ length: count }, (_, n) => client.start(flow, { id: `i${n}`, input: n })))
  const worker = await Engine.open({ host, store, workflows: [flow], options: { maxConcurrentSteps: concurrentSteps } })
  const moments = async () => {
    for (let i = 0; i < 50; i++) await new Promise<void>((resolve) => macrotask(resolve))
  }
  await moments()
  return {
    worker,
    owned: () => worker.components.store.journal.owned(worker.components.worker.workerName),
    async finish() {
      gate.open()
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(Array.from({ length: count }, (_, n) => n))
      expect(most).toBe(Math.min(concurrentSteps, count))
      await client.close()
      await worker.close()
    },
  }
}

it("a worker with few concurrent steps claims a few instances per step, leaves the others in the store, and runs all of them in the end", async () => {
  const at = await scene(2)
  expect(await at.owned()).toHaveLength(8)
  await at.finish()
})

it("one step at a time is enough for any number of instances", async () => {
  const at = await scene(1)
  expect(await at.owned()).toHaveLength(4)
  await at.finish()
})

it("resting instances do not count: a worker continues to claim while they wait for events", async () => {
  const flow = workflow("flow", async (ctx: Context) => ctx.waitForEvent("go"))
  const store = memory()
  const host = new SimulatedHost()
  const client = await Engine.open({ host, store, workflows: [flow], options: {}, role: "client" })
  const handles = await Promise.all(Array.from({ length: count }, (_, n) => client.start(flow, { id: `i${n}` })))
  const worker = await Engine.open({ host, store, workflows: [flow], options: { maxConcurrentSteps: 1 } })
  while ((await client.count({}, "status"))["waiting"] !== count) await new Promise<void>((resolve) => macrotask(resolve))
  await Promise.all(handles.map((handle, n) => handle.sendEvent("go", n)))
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(Array.from({ length: count }, (_, n) => n))
  await client.close()
  await worker.close()
})

it("a worker claims a few instances at a time, so that other free workers get their share", async () => {
  const limits: number[] = []
  const gate = new Gate()
  const flow = workflow("flow", async (ctx: Context) => ctx.do("work", () => gate.passed))
  const store = memory()
  const noted: StoreProvider = {
    name: "noted",
    async open(context) {
      const open = await store.open(context)
      const claim: Store["journal"]["claim"] = async (request) => {
        limits.push(request.limit)
        return open.journal.claim(request)
      }
      return overriding<Store>(open, { journal: overriding(open.journal, { claim }) })
    },
  }
  const host = new SimulatedHost()
  const client = await Engine.open({ host, store, workflows: [flow], options: {}, role: "client" })
  const handles = await Promise.all(Array.from({ length: count }, (_, n) => client.start(flow, { id: `i${n}` })))
  const worker = await Engine.open({ host, store: noted, workflows: [flow], options: { maxConcurrentSteps: 8 } })
  for (let i = 0; i < 50; i++) await new Promise<void>((resolve) => macrotask(resolve))
  expect(limits).toEqual([8, 8, 8, 8])
  gate.open()
  await Promise.all(handles.map((handle) => handle.result()))
  await client.close()
  await worker.close()
})

it("room is reserved for instances that are being claimed: starts in the meantime do not take it", async () => {
  const flow = workflow("flow", async (ctx: Context) => ctx.do("work", () => gate.passed))
  const gate = new Gate()
  const answer = new Gate()
  const store = memory()
  /** A store that answers claims late. */
  const slow: StoreProvider = {
    name: "slow",
    async open(context) {
      const open = await store.open(context)
      const claim: Store["journal"]["claim"] = async (request) => answer.passed.then(() => open.journal.claim(request))
      return overriding<Store>(open, { journal: overriding(open.journal, { claim }) })
    },
  }
  const host = new SimulatedHost()
  const client = await Engine.open({ host, store, workflows: [flow], options: {}, role: "client" })
  const worker = await Engine.open({ host, store: slow, workflows: [flow], options: { maxResidentInstances: 3 } })
  const { residents } = worker.components.worker
  const there = await Promise.all(["a", "b", "c"].map((id) => client.start(flow, { id })))
  const here = await Promise.all(["d", "e", "f"].map((id) => worker.start(flow, { id })))
  expect(residents.size).toBe(0)
  answer.open()
  for (let i = 0; i < 50; i++) await new Promise<void>((resolve) => macrotask(resolve))
  expect(residents.size).toBe(3)
  gate.open()
  await Promise.all([...there, ...here].map((handle) => handle.result()))
  await client.close()
  await worker.close()
})
