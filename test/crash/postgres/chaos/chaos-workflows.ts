// Workflows of every kind. Each step has an effect, and returns the nonce of the attempt that had the effect first.

import { setTimeout as delay } from "node:timers/promises"
import { type AnyWorkflow, type Context, type StepContext, workflow } from "../../../../src/index.ts"
import type { Effects } from "./effects.ts"

export const kinds = ["plain", "retried", "sleeper", "listener", "parent", "limited"] as const
export type Kind = (typeof kinds)[number]
export const concurrency = 5

/** `effects`: undefined if this process executes nothing. */
export function chaosWorkflows(effects: Effects | undefined, process: string): readonly AnyWorkflow[] {
  let nonces = 0
  const effect = async (ctx: Context, name: string, { idempotencyKey: key }: StepContext) => {
    const nonce = `${process}.${++nonces}`
    const first = (await effects?.apply({ key, instance: ctx.instance.id, step: name, nonce })) ?? nonce
    // Long enough that a kill can come between the effect and its record.
    await delay(20 + Math.random() * 130)
    return first
  }
  const step = (ctx: Context, name: string) => ctx.do(name, async (inside) => effect(ctx, name, inside))

  const plain = workflow("plain", async (ctx: Context) => [await step(ctx, "a"), await step(ctx, "b"), await step(ctx, "c")])

  const retried = workflow("retried", { retry: { maxAttempts: 1_000, initialInterval: 20, maxInterval: 100 } }, async (ctx: Context) => {
    const odd = await ctx.do("odd", async (inside) => {
      const nonce = await effect(ctx, "odd", inside)
      if (inside.attempt < 3) throw new Error("not yet")
      return nonce
    })
    return [odd, await step(ctx, "even")]
  })

  const sleeper = workflow("sleeper", async (ctx: Context, ms: number) => {
    const before = await step(ctx, "before")
    await ctx.sleep("nap", ms)
    return [before, await step(ctx, "after")]
  })

  const listener = workflow("listener", async (ctx: Context) => {
    const before = await step(ctx, "before")
    const word = await ctx.waitForEvent("word")
    return [before, word, await step(ctx, "after")]
  })

  const parent = workflow("parent", async (ctx: Context) => {
    const before = await step(ctx, "before")
    const children = await Promise.all(["x", "y"].map((name) => ctx.runChild(plain, { id: `${ctx.instance.id}-${name}` })))
    return [before, ...children.flat(), await step(ctx, "after")]
  })

  const limited = workflow("limited", { concurrency }, async (ctx: Context) => {
    const nonces: string[] = []
    for (const [index, name] of ["one", "two"].entries()) {
      const nonce = await ctx.do(name, async (inside) => {
        const { id } = ctx.instance
        const place = index * 1_000_000 + inside.attempt
        await effects?.enter(id, place)
        const mine = await effect(ctx, name, inside)
        await effects?.leave(id, place)
        return mine
      })
      nonces.push(nonce)
      // The instance releases its slot, and queues for a slot again.
      if (index === 0) await ctx.sleep("between", 30)
    }
    return nonces
  })

  return [plain, retried, sleeper, listener, parent, limited]
}
