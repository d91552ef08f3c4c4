// A worker and a client on one file: what the client does to instances that the worker holds in memory.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Context, type Engine, Perdure, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { afterEach, beforeEach, expect, it } from "vitest"
import { wholeEngine } from "../src/engine/public-engine.ts"
import { Gate } from "../src/testing/scenarios/gate.ts"

let folder: string
let worker: Engine
let client: Engine
let begun: Gate
let told: Gate<unknown>

const flow = workflow("flow", async (ctx: Context, input: string) => {
  if (input === "wait" || ctx.instance.run > 1) return [input, ctx.instance.run, await ctx.waitForEvent("word")]
  return ctx.do("endless", ({ signal }) => {
    begun.open()
    signal.addEventListener("abort", () => told.open(signal.reason))
    return new Promise<never>(() => undefined)
  })
})

beforeEach(async () => {
  begun = new Gate()
  told = new Gate<unknown>()
  folder = mkdtempSync(join(tmpdir(), "perdure-two-"))
  const store = () => sqlite(join(folder, "app.db"), { durability: "process", pollInterval: 2 })
  worker = await Perdure.open({ store: store(), workflows: [flow] })
  client = await Perdure.open({ store: store(), workflows: [flow], role: "client" })
})

afterEach(async () => {
  await client.close()
  await worker.close()
  rmSync(folder, { recursive: true })
})

it("a restart by the client of one that waits, or works, runs the new run once", async () => {
  for (const input of ["wait", "work"]) {
    const handle = await worker.start(flow, { id: input, input })
    expect(await client.get(input).restart()).toMatchObject({ accepted: true })
    await client.get(input).sendEvent("word", "again")
    expect(await client.get(input).result()).toEqual([input, 2, "again"])
    expect(await handle.result()).toEqual([input, 2, "again"])
  }
})

it("a terminate by the client ends it, and tells the attempt that runs in the worker", async () => {
  const handle = await worker.start(flow, { id: "i", input: "work" })
  const result = handle.result().catch((error: unknown) => error)
  await begun.passed
  expect(await client.get("i").terminate("from afar")).toMatchObject({ accepted: true, status: "terminated" })
  expect(await result).toMatchObject({ code: "TERMINATED", details: { reason: "from afar" } })
  expect(await told.passed).toBeDefined()
})

it("a cancel by the client is taken in by the worker", async () => {
  const handle = await worker.start(flow, { id: "i", input: "wait" })
  expect(await client.get("i").cancel("from afar")).toMatchObject({ accepted: true })
  await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: "from afar" } })
})

it("an id that the client frees and uses again is another instance", async () => {
  await worker.start(flow, { id: "i", input: "wait" })
  await client.get("i").terminate()
  await client.get("i").delete()
  await client.start(flow, { id: "i", input: "wait" })
  await client.get("i").sendEvent("word", "to the second")
  expect(await worker.get("i").result()).toEqual(["wait", 1, "to the second"])
  expect((await worker.get("i").history()).entries.map(({ type }) => type)).not.toContain("run.terminated")
})

it("of two that start the same id at once one is refused, and the other runs", async () => {
  const starts = await Promise.allSettled([worker.start(flow, { id: "i", input: "wait" }), client.start(flow, { id: "i", input: "wait" })])
  expect(starts.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
  await client.get("i").sendEvent("word", "hello")
  expect(await worker.get("i").result()).toEqual(["wait", 1, "hello"])
})

it("a client pauses and cancels at once what a worker left behind that died, though its lease lasts", async () => {
  for (const id of ["p", "c"]) await worker.start(flow, { id, input: "wait" })
  const { core, components } = wholeEngine(worker)
  core.kill()
  await components.store.close()
  expect(await client.get("p").pause()).toEqual({ id: "p", accepted: true, status: "paused" })
  expect(await client.get("c").cancel()).toEqual({ id: "c", accepted: true, status: "running", phase: "cancelling" })
})
