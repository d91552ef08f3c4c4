import { expect, it } from "vitest"
import type { Engine } from "../engine.ts"
import { workflow, type HookEvent } from "../../index.ts"
import { createTestEngine } from "../../testing/test-engine.ts"

it("a failed hook is given up if the engine's retry function throws, and both errors are logged", async () => {
  const lines: string[] = []
  const note = (message: string) => void lines.push(message)
  const flow = workflow("flow", { onCompleted: () => Promise.reject(new Error("hook")) }, async () => 1)
  const retry = () => {
    throw new Error("policy")
  }
  await using engine = await createTestEngine({ workflows: [flow], retry, log: { debug: note, info: note, warn: note, error: note } })
  const handle = await engine.start(flow, { id: "i" })
  await engine.skip("1h")
  expect((await handle.history()).entries.map(({ type }) => type)).toEqual(["run.started", "run.completed", "hook.failed"])
  expect(lines).toEqual([`the engine's retry function failed for a hook of instance "i"`, 'the onCompleted hook of instance "i" failed and is given up'])
})

it("a hook can read the result of its instance", async () => {
  const results: unknown[] = []
  const open: { engine?: Engine } = {}
  const onCompleted = async ({ id }: HookEvent) => void results.push(await open.engine?.get(id).result())
  const flow = workflow("flow", { onCompleted }, async () => "done")
  await using engine = await createTestEngine({ workflows: [flow] })
  open.engine = engine.current
  await engine.start(flow, { id: "i" })
  await engine.settle()
  expect(results).toEqual(["done"])
})
