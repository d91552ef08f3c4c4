// A turn that is written together with the user's transaction releases slots like any other turn.

import { type Context, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine } from "perdure/testing"
import { expect, it } from "vitest"

it("an instance with a limit whose steps are transactions lets the next one in", async () => {
  const order: string[] = []
  const flow = workflow("flow", { concurrency: 1 }, async (ctx: Context) => {
    await ctx.transaction("create", (sql) => void sql.run("CREATE TABLE IF NOT EXISTS mine (id TEXT)"))
    await ctx.sleep("nap", "1s")
    return ctx.transaction("note", (sql) => {
      order.push(ctx.instance.id)
      sql.run("INSERT INTO mine VALUES (?)", ctx.instance.id)
    })
  })
  await using engine = await createTestEngine({ workflows: [flow], store: sqlite(":memory:") })
  for (const id of ["a", "b", "c"]) await engine.start(flow, { id })
  await engine.skip("1s")
  expect(await engine.count({}, "status")).toEqual({ completed: 3 })
  expect(order).toEqual(["a", "b", "c"])
})
