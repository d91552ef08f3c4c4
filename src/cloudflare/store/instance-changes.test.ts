import { expect, it } from "vitest"
import { workflow } from "../../core/workflow/workflow.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { instanceChanges } from "./instance-changes.ts"

it("the index is told what became of an instance, after a position, and nothing of its steps or values", async () => {
  const order = workflow("order", async (ctx, _input: string) => {
    await ctx.do("reserve", () => "secret result")
    await ctx.sleep("pause", "1h")
    throw new Error("no stock")
  })
  await using engine = await createTestEngine({ workflows: [order] })
  const handle = await engine.start(order, { id: "o1", input: "secret input" })
  await engine.settle()
  await handle.pause("lunch")
  await engine.settle()
  await handle.resume()
  await engine.skip("2h")
  await expect(handle.result()).rejects.toThrow("no stock")
  const rows = await engine.current.components.store.journal.readJournal("o1", 1)
  const changes = instanceChanges("o1", rows, 0)
  expect(changes.map(({ type }) => type)).toEqual(["workflow.started", "workflow.paused", "workflow.resumed", "workflow.failed"])
  expect(changes[1]?.data).toEqual({ status: "paused", reason: "lunch" })
  expect(changes[3]?.data).toMatchObject({ status: "failed", error: { name: "Error", message: "no stock" } })
  expect(JSON.stringify(changes)).not.toContain("secret")
  const second = changes[1]!
  expect(instanceChanges("o1", rows, second.position)).toEqual(changes.slice(2))
})
