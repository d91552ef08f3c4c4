// The workflows that the workloads run. Steps do nothing, so that only the engine and the disk are measured.

import { workflow } from "perdure"

/** Runs `steps` steps, one after another. */
export const sequence = workflow("sequence", async (ctx, steps: number) => {
  for (let i = 0; i < steps; i++) await ctx.do("step", async () => ({ i }))
  return steps
})

/** Runs `steps` steps that wait, one after another. */
export const slowSequence = workflow("slow", async (ctx, steps: number) => {
  for (let i = 0; i < steps; i++) await ctx.do("step", () => new Promise((resolve) => setTimeout(() => resolve({ i }), 5)))
  return steps
})

/** Runs `steps` steps at once. */
export const fan = workflow("fan", async (ctx, steps: number) => {
  await Promise.all(Array.from({ length: steps }, (_, i) => ctx.do("step", async () => ({ i }))))
  return steps
})

/** Runs `steps` steps, waits for one event, and returns its payload. */
export const listener = workflow<number, number, { go: number }>("listener", async (ctx, steps) => {
  for (let i = 0; i < steps; i++) await ctx.do("step", async () => ({ i }))
  return ctx.waitForEvent("go")
})

/** Takes `events` events, one after another. */
export const taker = workflow<number, number, { go: number }>("taker", async (ctx, events) => {
  for (let i = 0; i < events; i++) if ((await ctx.waitForEvent("go")) !== i) throw new Error(`event ${i} did not come in its turn`)
  return events
})

/** Sleeps, and returns the time at which its code continued. Code that is not replayed may read the clock. */
export const sleeper = workflow("sleeper", async (ctx, ms: number) => {
  await ctx.sleep("nap", ms)
  return Date.now()
})

export const workflows = [sequence, slowSequence, fan, listener, taker, sleeper]
