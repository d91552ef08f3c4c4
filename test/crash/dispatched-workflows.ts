import { type Context, workflow } from "../../src/index.ts"

/** Waits for its event, then sleeps: an engine that executes in ticks needs at least two of them. */
export const job = workflow("job", async (ctx: Context<{ go: undefined }>) => {
  const notes: string[] = []
  ctx.setUpdateHandler("note", (text: string) => ctx.do("note", () => text).then((noted) => notes.push(noted)))
  await ctx.waitForEvent("go")
  await ctx.sleep("nap", 30)
  return ctx.do("work", () => ["done", ...notes].join(" "))
})

/** Waits for the end of a job. */
export const parent = workflow("parent", async (ctx: Context) => ctx.runChild(job, { id: "child" }))

export const workflows = [job, parent]
