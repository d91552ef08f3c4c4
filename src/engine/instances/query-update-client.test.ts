import { expect, it } from "vitest"
import type { Context } from "../../core/workflow/context.ts"
import { workflow } from "../../core/workflow/workflow.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { Engine } from "../engine.ts"

it("an instance that is restarted from a step answers queries from what it keeps, before a worker has taken it", async () => {
  const sums = workflow("sums", async (ctx: Context) => {
    let sum = 0
    ctx.setQueryHandler("sum", () => sum)
    for (const name of ["first", "second"]) sum += await ctx.do(name, () => 1)
    return sum
  })
  await using engine = await createTestEngine({ workflows: [sums] })
  await (await engine.start(sums, { id: "i" })).result()
  await engine.close()
  const client = await Engine.open({ host: engine.host, store: engine.sharedStore, workflows: [sums], options: {}, role: "client" })
  expect(await client.restart("i", { from: "second" })).toMatchObject({ accepted: true, status: "queued" })
  expect(await client.get("i").query("sum")).toBe(1)
  await client.start(sums, { id: "j" })
  await expect(client.get("j").query("sum")).rejects.toMatchObject({ code: "NOT_STARTED" })
  await client.close()
})
