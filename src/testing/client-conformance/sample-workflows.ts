import type { Context } from "../../core/workflow/context.ts"
import type { StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"
import { workflow } from "../../core/workflow/workflow.ts"

/** Takes a number of at least 1. */
const positive: StandardSchemaV1<number, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => (Number(value) >= 1 ? { value: Number(value) } : { issues: [{ message: "is below 1" }] }),
  },
}

/** Values that JSON does not have. */
export const richValue = {
  at: new Date(1_700_000_000_000),
  big: 2n ** 70n,
  map: new Map<unknown, unknown>([["a", new Set([1, undefined])]]),
  bytes: new Uint8Array([0, 1, 255]),
  nothing: undefined,
  minus: -0,
  text: "ä\u{1f600}\ud800",
}

export const echo = workflow("echo", async (ctx: Context, input: unknown) => ctx.do("say", () => input))
export const checked = workflow("checked", { version: "3", input: positive }, async (ctx, input) => ctx.do("double", () => input * 2))
export const patient = workflow("patient", async (ctx: Context<{ word: unknown }>) => {
  const words: unknown[] = []
  ctx.setQueryHandler("words", (...args: unknown[]) => [...words, ...args])
  ctx.setQueryHandler("broken", () => {
    throw new RangeError("cannot tell")
  })
  ctx.setUpdateHandler("add", (word: unknown) => {
    words.push(word)
    return words.length
  })
  await ctx.do("begin", () => "begun")
  words.push(await ctx.waitForEvent("word"))
  return words
})
export const declaring = workflow("declaring", { events: { word: positive } }, async (ctx) => ctx.waitForEvent("word"))
export const failing = workflow("failing", async (ctx: Context) => {
  await ctx.do("first", () => 1)
  throw Object.assign(new TypeError("out of stock", { cause: new RangeError("none left") }), { left: 0n })
})
export const limited = workflow("limited", { concurrency: [3, { name: "wide", limit: 9 }] }, async (ctx: Context) => ctx.do("work", () => "done"))
export const undoing = workflow("undoing", async (ctx: Context) => {
  await ctx.do("reserve", () => "reserved", { rollback: () => undefined })
  await ctx.waitForEvent("word")
})
export const noting = workflow("noting", async (ctx: Context) => {
  ctx.setMemo("note", richValue)
  ctx.tags.add("noted")
  await ctx.do("work", () => 1)
})
export const secretive = workflow("secretive", { sensitive: { result: true } }, async (ctx: Context, how: "tell" | "fail") => {
  if (how === "fail") await ctx.do("work", () => Promise.reject(new RangeError("a secret")), { sensitive: true, retry: { maxAttempts: 1 } })
  return "a secret"
})

export const supplying = workflow("supplying", async (ctx: Context) =>
  ctx.activity("supply", { taskQueue: "far", input: richValue, timeout: "1m", heartbeatTimeout: "20s", retry: { maxAttempts: 2, initialInterval: 0 } }),
)

/** After a restart from a step this workflow asks for another step than the recorded one, and so it stalls. */
export const fickle = workflow("fickle", async (ctx: Context) => {
  if (ctx.instance.run === 1) await ctx.do("choose", () => 1)
  else await ctx.sleep("choose", "1h")
  await ctx.do("keep", () => 2)
  await ctx.waitForEvent("word")
})

export const sampleWorkflows = [echo, checked, patient, failing, limited, undoing, secretive, noting, declaring, fickle, supplying]
