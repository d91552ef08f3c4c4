import { expect, it } from "vitest"
import { workflow } from "../../index.ts"
import { SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { allFeatures } from "../all-features.ts"
import { Engine } from "../engine.ts"
import { SharedStoreCore } from "../shared-store-core.ts"

it("an instance with a child comes to no end in an engine that has none, and goes on in one that has", async () => {
  const child = workflow("child", async (ctx) => ctx.waitForEvent("go"))
  const parent = workflow("parent", async (ctx) => ctx.runChild(child, { id: "child" }))
  const spec = { host: new SimulatedHost(), store: memory(), workflows: [parent, child], options: {} }
  const first = await Engine.open(spec)
  await first.start(parent, { id: "parent" })
  while ((await first.describe("parent")).status !== "waiting") await new Promise<void>((resolve) => spec.host.quiesce(resolve))
  await first.close()

  const { children: _, ...features } = allFeatures
  const childless = await SharedStoreCore.open({ ...spec, features })
  await childless.begin()
  await childless.parts.controls.sendEvent("child", "go", 1, {})
  const { directory } = childless.parts.store
  while ((await directory.get("child"))?.status !== "stalled") await new Promise<void>((resolve) => spec.host.quiesce(resolve))
  expect((await directory.get("parent"))?.status).toBe("waiting")
  await expect(childless.parts.controls.terminate("parent", {})).rejects.toMatchObject({ code: "PART_MISSING", details: { part: "children" } })
  await childless.close()

  const last = await Engine.open(spec)
  await last.resume("child")
  await expect(last.get("parent").result()).resolves.toBe(1)
  await last.close()
})
