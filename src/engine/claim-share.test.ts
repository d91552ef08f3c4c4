import { expect, it } from "vitest"
import { workflow, type Context } from "../index.ts"
import { macrotask, SimulatedHost } from "../hosts/simulated/simulated-host.ts"
import { memory } from "../stores/memory/memory.ts"
import { Gate } from "../testing/scenarios/gate.ts"
import { Engine } from "./engine.ts"

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
    owned: () => worker.parts.store.journal.owned(worker.parts.worker.worker),
    async finish() {
      gate.open()
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(Array.from({ length: count }, (_, n) => n))
      expect(most).toBe(Math.min(concurrentSteps, count))
      await client.close()
      await worker.close()
    },
  }
}

it("a worker that runs few steps at a time claims a few instances for each, leaves the others, and gets to all of them", async () => {
  const at = await scene(2)
  expect(await at.owned()).toHaveLength(8)
  await at.finish()
})

it("one step at a time is enough for any number of instances", async () => {
  const at = await scene(1)
  expect(await at.owned()).toHaveLength(4)
  await at.finish()
})

it("instances that rest in memory do not count: a worker goes on claiming while they wait for events", async () => {
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
