import { workflow } from "perdure"
import { composeWorkflowRunner } from "perdure/cloudflare"

const noted = workflow("noted", async (ctx, name: string) => {
  ctx.setQueryHandler("name", () => name)
  const child = await ctx.startChild(leaf, { id: `${ctx.instance.id}-leaf`, input: name })
  const result = await child.result()
  await ctx.waitForEvent("go")
  return ctx.do("greet", () => `Hello, ${result}!`)
})

const leaf = workflow("leaf", async (ctx, name: string) => ctx.do("shout", () => name.toUpperCase()))

const writing = workflow("writing", async (ctx) => ctx.transaction("write", (sql) => sql.run("CREATE TABLE note (text TEXT)")))

/** A runner that was given no parts. */
export const SmallRunner = composeWorkflowRunner({ workflows: [noted, leaf, writing], parts: [], binding: "SMALL_RUNNER", indexShards: 1 })
