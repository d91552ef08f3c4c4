import { AsyncLocalStorage } from "node:async_hooks"
import { Perdure, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { expect, it } from "vitest"

it("user code sees the async context in which the engine was opened, whoever starts, sends or wakes it", async () => {
  const context = new AsyncLocalStorage<string>()
  const flow = workflow("flow", async (ctx) => {
    const seen = [context.getStore()]
    seen.push(await ctx.do("step", async ({ step }) => `${context.getStore()} ${await step.do("nested", () => context.getStore())}`))
    await ctx.waitForEvent("word")
    await ctx.sleep("nap", 1)
    seen.push(context.getStore(), await ctx.do("after", () => context.getStore()))
    return seen
  })
  await using engine = await context.run("the opener's", () => Perdure.open({ store: sqlite(":memory:"), workflows: [flow] }))
  const handle = await context.run("the starter's", () => engine.start(flow))
  await context.run("the sender's", () => handle.sendEvent("word"))
  expect(await handle.result()).toEqual(["the opener's", "the opener's the opener's", "the opener's", "the opener's"])
})
