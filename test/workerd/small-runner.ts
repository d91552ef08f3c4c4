import { workflow } from "perdure"
import { annotations, changes, children, composeWorkflowRunner, history, hooks, nestedSteps, restarts } from "perdure/cloudflare"

const noted = workflow("noted", async (ctx, name: string) => {
  ctx.setQueryHandler("name", () => name)
  await ctx.waitForEvent("go")
  return ctx.do("greet", () => `Hello, ${name}!`)
})

const leaf = workflow("leaf", async (ctx, name: string) => ctx.do("shout", () => name.toUpperCase()))

const family = workflow("family", async (ctx, name: string) => ctx.runChild(leaf, { input: name }))

const nesting = workflow("nesting", async (ctx, name: string) => ctx.do("outer", async ({ step }) => step.do("inner", () => name.toUpperCase())))

const tagged = workflow("tagged", async (ctx) => {
  ctx.tags.add("seen")
  ctx.setMemo("stage", "done")
  return [...ctx.tags]
})

const writing = workflow("writing", async (ctx) => ctx.transaction("write", (sql) => sql.run("CREATE TABLE note (text TEXT)")))

/** A runner that was given no parts. */
export const SmallRunner = composeWorkflowRunner({
  workflows: [noted, leaf, family, nesting, tagged, writing],
  parts: [],
  binding: "SMALL_RUNNER",
  indexShards: 1,
})

/** What hooks were told. */
export const endings: string[] = []

const told = workflow("told", { onCompleted: ({ id }) => void endings.push(id) }, async (ctx, name: string) => {
  const result: unknown = await ctx.runChild(leaf, { id: `${ctx.instance.id}-leaf`, input: name })
  return ctx.do("greet", () => `Hello, ${String(result)}!`)
})

/** One that has some parts, and none of the others. */
export const SomeRunner = composeWorkflowRunner({
  workflows: [told, leaf, nesting, tagged],
  parts: [annotations, changes, children, history, hooks, nestedSteps, restarts],
  binding: "SOME_RUNNER",
  indexShards: 1,
})
