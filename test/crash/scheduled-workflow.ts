import { type Context, workflow } from "../../src/index.ts"

/** The workflow that the schedules of the kill test start. Its input says how long it takes. */
export const scheduled = workflow("scheduled", async (ctx: Context, input: { readonly ms: number }) => {
  await ctx.do("begin", () => ctx.instance.schedule?.id)
  if (input.ms > 0) await ctx.sleep("work", input.ms)
  return ctx.instance.schedule?.scheduledAt
})
