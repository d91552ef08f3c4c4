// More workflows of the golden journals. Never edit a workflow here: its journals need the code that recorded them. Add another one.

import { type Context, defineActivity, type PerdureError, workflow } from "../../src/index.ts"

interface Letters {
  letter: { readonly text: string }
}

const once = { retry: { maxAttempts: 1 } } as const

/**
 * Rolls back every step that has started. The slow step starts first and completes last, "charge" fails and is caught, "print" waits for its next
 * attempt, and "ship" fails the run. The rollback of "charge" succeeds at its second attempt.
 */
export const undoneFromStart = workflow(
  "undone-from-start",
  { rollbackPolicy: { of: "started" }, retry: { maxAttempts: 2, initialInterval: "1s", jitter: 0 } },
  async (ctx: Context<Letters>) => {
    const told = (result: unknown, { error, attempts }: { error: unknown; attempts: number }) => ({ result, because: (error as Error).message, attempts })
    const slow = ctx.do("slow", ({ step }) => step.sleep("busy", "2s").then(() => "slow"), { rollback: told })
    const quick = ctx.do("quick", () => "quick", { rollback: told })
    await Promise.all([slow, quick])
    await ctx
      .do("charge", () => Promise.reject(new RangeError("no answer from the bank")), {
        rollback: (result, context) => {
          if (context.attempt === 1) throw new Error("the bank is closed")
          return told(result, context)
        },
      })
      .catch(() => undefined)
    const print = ctx.do("print", () => Promise.reject(new Error("no paper")), { retry: { initialInterval: "1h" }, rollback: told })
    print.catch(() => undefined)
    await ctx.do("label", () => "label")
    await ctx.do("ship", () => Promise.reject(new Error("no ship")), { ...once, rollback: told })
  },
)

/** Stops at the first rollback that fails: "pack" is rolled back, "charge" cannot be, and "reserve" is not tried. */
export const undoneUntilFailure = workflow("undone-until-failure", { rollbackPolicy: { of: "started", onFailure: "stop" } }, async (ctx) => {
  await ctx.do("reserve", () => "A7", { rollback: (shelf) => `${shelf} is free` })
  await ctx.do("charge", () => 20, { rollback: { run: () => Promise.reject(new Error("the bank keeps it")), ...once } })
  await ctx.do("pack", () => Promise.reject(new Error("no box")), { ...once, rollback: (box: unknown) => `the box is ${String(box)}` })
})

/** Receives events with their type, id and time: one that was sent with an id, one without, one under another name, and none in time. */
export const receiving = workflow("receiving", async (ctx: Context<Letters>) => {
  const first = await ctx.receiveEvent("letter")
  const second = await ctx.receiveEvent("reply", { type: "letter", timeout: "1h" })
  const third = await ctx.receiveEvent("last", { type: "letter", timeout: "1h" }).catch((error: Error) => error.message)
  return { first, second, third }
})

/** Functions that return promises decide on retries: two delays for one step, and no further attempt for another. */
export const retryDecided = workflow("retry-decided", async (ctx) => {
  const flaky = ({ attempt }: { attempt: number }) => (attempt < 3 ? Promise.reject(new Error("not yet")) : Promise.resolve(attempt))
  const attempts = await ctx.do("flaky", flaky, { retry: (_error, attempt) => Promise.resolve(`${attempt * 5}s` as const) })
  const failed = ctx.do("broken", () => Promise.reject(new RangeError("broken")), { retry: () => Promise.resolve(false as const) })
  return { attempts, failed: await failed.catch((error: Error) => (error.cause as Error).message) }
})

/** Fails once, after a heartbeat; the second attempt returns what that heartbeat reported. */
const counting = defineActivity("counting", (_: void, { attempt, heartbeat, lastHeartbeat }) => {
  if (attempt === 2) return lastHeartbeat
  heartbeat({ pages: 3 })
  throw new Error("out of ink")
})

const doubling = defineActivity("doubling", (n: number) => 2 * n)

export const activities = [counting, doubling]

/** Asks for activities: one where the workflow runs, one in a task queue that is tried twice, and one that nobody offers. */
export const delegating = workflow("delegating", async (ctx: Context) => {
  const doubled = await ctx.activity(doubling, { input: 21 })
  const counted = await ctx.activity(counting, { heartbeatTimeout: "10s", retry: { maxAttempts: 2, initialInterval: "1s", jitter: 0 } })
  const nobody = ctx.activity("ship", { taskQueue: "harbour", scheduleToStartTimeout: "1m" })
  return { doubled, counted, shipped: await nobody.catch((error: Error) => (error.cause as PerdureError).code) }
})
