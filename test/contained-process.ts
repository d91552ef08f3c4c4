// containment.test.ts runs this process. It leaves a rejected promise at the place that its argument names, and continues to work.

import { type Context, type Logger, Perdure, workflow } from "../src/index.ts"
import { sqlite } from "../src/sqlite.ts"

const place = process.argv[2]
const forget = (where: string) => {
  if (place === where) void Promise.reject(new Error(`forgotten in ${where}`))
}
let isAsked = false
const macrotask = () => new Promise<void>((resolve) => setImmediate(resolve))

const flow = workflow("flow", { onCompleted: () => forget("hook") }, async (ctx: Context) => {
  forget("workflow")
  if (isAsked) forget("code that is replayed for a query")
  ctx.setQueryHandler("q", () => {
    forget("query")
    return "answered"
  })
  const value = await ctx.do("work", async ({ step }) => {
    forget("step")
    await macrotask()
    forget("step after an await")
    return step.do("inner", () => {
      forget("nested step")
      return "worked"
    })
  })
  forget("workflow after a step")
  if (place === "step that nobody awaits") {
    const failing = ctx.do("failing", () => Promise.reject(new Error(`forgotten in ${place}`)), { retry: { maxAttempts: 1 } })
    void failing.then(() => "never")
    await ctx.do("meanwhile", () => macrotask())
    await ctx.do("meanwhile", () => macrotask())
  }
  if (place === "ask that nobody looks at") {
    void ctx.do("failing", () => Promise.reject(new Error(`forgotten in ${place}`)), { retry: { maxAttempts: 1 } })
    await ctx.do("meanwhile", () => macrotask())
    await ctx.do("meanwhile", () => macrotask())
  }
  return value
})

/** Still runs when the engine closes. Its signal then tells its own work to stop. */
const stubborn = workflow("stubborn", (ctx) =>
  ctx.do("work", ({ signal }) => {
    void new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error(`forgotten in ${place}`))))
    return new Promise<never>(() => undefined)
  }),
)

const bystander = workflow("bystander", (ctx) => {
  ctx.onEvent("shout", () => forget("handler of an event"))
  ctx.setUpdateHandler("u", { validate: () => forget("validation") }, () => forget("update"))
  return ctx.waitForEvent("word")
})

const lines: string[] = []
const quiet = () => undefined
const log: Logger = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: (message, data) => void lines.push(`${message} | ${String(data?.["instance"])} | ${String(data?.["error"])}`),
}

const engine = await Perdure.open({ store: sqlite(":memory:"), workflows: [flow, bystander, stubborn], log, drain: 10 })
const other = await engine.start(bystander, { id: "bystander" })
const handle = await engine.start(flow, { id: "i" })
const result = await handle.result()
for (let i = 0; i < 5; i++) await macrotask()
isAsked = true
// The instance has ended and left memory, so the query runs its code again.
if (place?.includes("query")) await handle.query("q")
await other.sendEvent("shout")
await other.update("u")
for (let i = 0; i < 5; i++) await macrotask()
forget("foreign code")
for (let i = 0; i < 5; i++) await macrotask()
await other.sendEvent("word", "unharmed")
console.log(JSON.stringify({ result, other: await other.result(), lines }))
if (place === "step at the close") await engine.start(stubborn, { id: "stubborn" })
for (let i = 0; i < 5; i++) await macrotask()
await engine.close()
for (let i = 0; i < 5; i++) await macrotask()
forget("foreign code after the engine closed")
