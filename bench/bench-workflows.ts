// The workflows that the workloads run. Steps do nothing, so that what is measured is the engine and the disk.

import { workflow } from "perdure"

/** So many steps, one after another. */
export const sequence = workflow("sequence", async (ctx, steps: number) => {
  for (let i = 0; i < steps; i++) await ctx.do("step", async () => ({ i }))
  return steps
})

/** The same with steps that wait. */
export const slowSequence = workflow("slow", async (ctx, steps: number) => {
  for (let i = 0; i < steps; i++) await ctx.do("step", () => new Promise((resolve) => setTimeout(() => resolve({ i }), 5)))
  return steps
})

/** So many steps at once. */
export const fan = workflow("fan", async (ctx, steps: number) => {
  await Promise.all(Array.from({ length: steps }, (_, i) => ctx.do("step", async () => ({ i }))))
  return steps
})

/** So many steps, then one event, which is its result. */
export const listener = workflow<number, number, { go: number }>("listener", async (ctx, steps) => {
  for (let i = 0; i < steps; i++) await ctx.do("step", async () => ({ i }))
  return ctx.waitForEvent("go")
})

/** So many events, one after another. */
export const taker = workflow<number, number, { go: number }>("taker", async (ctx, events) => {
  for (let i = 0; i < events; i++) if ((await ctx.waitForEvent("go")) !== i) throw new Error(`event ${i} did not come in its turn`)
  return events
})

/** Sleeps, and says when its code went on: code that is not replayed may read the clock. */
export const sleeper = workflow("sleeper", async (ctx, ms: number) => {
  await ctx.sleep("nap", ms)
  return Date.now()
})

export const workflows = [sequence, slowSequence, fan, listener, taker, sleeper]
