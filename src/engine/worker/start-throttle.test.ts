import { expect, it, onTestFinished } from "vitest"
import { type Context, workflow } from "../../index.ts"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { Engine } from "../engine.ts"

const moment = () => new Promise<void>((resolve) => macrotask(resolve))

const counts = { now: 0, most: 0 }
const sequence = workflow("sequence", async (ctx: Context, steps: number) => {
  counts.most = Math.max(counts.most, ++counts.now)
  for (let i = 0; i < steps; i++) await ctx.do("step", () => i)
  counts.now--
})

async function open(): Promise<Engine> {
  Object.assign(counts, { now: 0, most: 0 })
  const engine = await Engine.open({ host: new SimulatedHost(), store: memory(), workflows: [sequence], options: {} })
  onTestFinished(() => engine.kill())
  return engine
}

const starts = (engine: Engine, count: number, input: number) => Array.from({ length: count }, () => engine.start(sequence, { input }))

it("a crowd of starts is admitted in waves, and all instances complete", async () => {
  const engine = await open()
  const handles = await Promise.all(starts(engine, 1_000, 5))
  await Promise.all(handles.map((handle) => handle.result()))
  expect(counts.most).toBeGreaterThan(200)
  expect(counts.most).toBeLessThan(600)
  expect(await engine.count({}, "status")).toEqual({ completed: 1_000 })
})

it("starts that fit into one wave are one commit", async () => {
  const engine = await open()
  const { committer } = engine.components.worker
  const before = committer.commits
  await Promise.all(starts(engine, 200, 1))
  expect(committer.commits - before).toBe(1)
})

it("waiting starts begin although other instances are busy for ever", async () => {
  const engine = await open()
  await Promise.all(starts(engine, 100, 1_000_000))
  const handles = await Promise.all(starts(engine, 600, 1))
  expect(handles).toHaveLength(600)
})

it("failed starts leave no start waiting behind them", async () => {
  const engine = await open()
  const bad = await Promise.allSettled(Array.from({ length: 600 }, () => engine.start(sequence, { input: 1, id: "" })))
  expect(bad.every(({ status }) => status === "rejected")).toBe(true)
  await (await engine.start(sequence, { input: 1 })).result()
})

it("starts that wait when the engine closes are started", async () => {
  const engine = await open()
  const crowd = Promise.all(starts(engine, 600, 1))
  await engine.close()
  await expect(crowd).resolves.toHaveLength(600)
})

it("starts that wait when the engine dies are refused", async () => {
  const engine = await open()
  const crowd = Promise.allSettled(starts(engine, 600, 1))
  await moment()
  engine.kill()
  const results = await crowd
  expect(results.filter(({ status }) => status === "rejected").length).toBeGreaterThan(300)
})
