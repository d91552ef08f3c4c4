import { type Context, workflow } from "../../src/index.ts"

/** What the schedules of the kill test start: takes as long as its input says. */
export const scheduled = workflow("scheduled", async (ctx: Context, input: { readonly ms: number }) => {
  await ctx.do("begin", () => ctx.instance.schedule?.id)
  if (input.ms > 0) await ctx.sleep("work", input.ms)
  return ctx.instance.schedule?.scheduledAt
})
