import { NonRetryableError, workflow } from "perdure"
import { createWorkflowRunner } from "perdure/cloudflare"

/** How often a step's function was called, by instance and step. The objects of one file share this memory, and evictions keep it. */
export const calls = new Map<string, number>()

function called(instance: string, step: string): number {
  const key = `${instance}/${step}`
  const count = (calls.get(key) ?? 0) + 1
  calls.set(key, count)
  return count
}

const greet = workflow("greet", async (ctx, { name, pauseMs = 5 }: { name: string; pauseMs?: number }) => {
  const { id } = ctx.instance
  const hello = await ctx.do("hello", () => `Hello, ${name}!${called(id, "hello") > 1 ? " Again." : ""}`)
  await ctx.sleep("pause", pauseMs)
  const length = await ctx.do("count", () => {
    called(id, "count")
    return hello.length
  })
  return { hello, length }
})

const approval = workflow("approval", async (ctx, input: { amount: number }) => {
  await ctx.do("ask", () => called(ctx.instance.id, "ask"))
  const answer = await ctx.waitForEvent("answer", { timeout: "1h" })
  const done = await ctx.do("book", () => called(ctx.instance.id, "book"))
  return { amount: input.amount, approved: (answer as { approved?: boolean } | undefined)?.approved, done }
})

const parent = workflow("parent", async (ctx, { names }: { names: readonly string[] }) => {
  const children = await Promise.all(names.map((name) => ctx.startChild(greet, { id: `${ctx.instance.id}-${name}`, input: { name } })))
  const results = await Promise.all(children.map((child) => child.result()))
  return results.map(({ hello }) => hello)
})

/** A parent whose child ends when the parent ends. */
const guardian = workflow("guardian", async (ctx) => {
  await ctx.startChild(approval, { id: `${ctx.instance.id}-ward`, input: { amount: 1 } })
  await ctx.waitForEvent("leave")
})

/** Takes `count` events of one type, one after another. */
const taker = workflow("taker", async (ctx, count: number) => {
  const taken: unknown[] = []
  while (taken.length < count) taken.push(await ctx.waitForEvent("number"))
  return taken
})

/** A workflow with every kind of wait. */
const ladder = workflow("ladder", async (ctx) => {
  const { id } = ctx.instance
  const note = (step: string) => () => called(id, step)
  await ctx.do("first", note("first"))
  await ctx.sleep("short", 30)
  const [a, b] = await Promise.all([ctx.do("left", note("left")), ctx.do("right", note("right"))])
  const child = await ctx.runChild(greet, { id: `${id}-child`, input: { name: "Eve" } })
  const word = await ctx.waitForEvent("word")
  const once = async () => {
    if (called(id, "flaky") === 1) throw new Error("not yet")
  }
  await ctx.do("flaky", once, { retry: { initialInterval: 30, jitter: 0 } })
  await ctx.sleep("again", 30)
  await ctx.do("last", note("last"))
  return [a, b, child.length, word]
})

const bulky = workflow("bulky", async (ctx, text: string) => {
  const seen = await ctx.do("copy", () => text)
  return ctx.do("back", () => seen)
})

const ledger = workflow("ledger", async (ctx, amount: number) => {
  await ctx.transaction("book", (sql) => {
    sql.run("CREATE TABLE IF NOT EXISTS account (amount INTEGER NOT NULL)")
    sql.run("INSERT INTO account (amount) VALUES (?)", amount)
  })
  const refuse = ctx.transaction("refuse", (sql) => {
    sql.run("INSERT INTO account (amount) VALUES (?)", 1_000)
    throw new NonRetryableError("no")
  })
  await refuse.catch(() => undefined)
  const rolled = ctx.transaction("roll back", (sql) => sql.run("INSERT OR ROLLBACK INTO account (amount) VALUES (2000)"), { retry: { maxAttempts: 1 } })
  await rolled.catch((error: unknown) => ctx.do("note", () => String((error as { cause?: { code?: unknown } }).cause?.code)))
  return ctx.transaction("sum", (sql) => sql.get<{ sum: number }>("SELECT sum(amount) AS sum FROM account")?.sum)
})

/** A workflow that ends at once. */
const refusing = workflow("refusing", async () => {
  throw new NonRetryableError("not this one")
})

const counting = workflow("counting", async (ctx) => ctx.do("count", () => called(ctx.instance.id, "count")))

const wide = workflow("wide", async (ctx, steps: number) => {
  const done = await Promise.all(Array.from({ length: steps }, (_, i) => ctx.do("step", () => i)))
  return done.length
})

const failing = workflow("failing", async (ctx) => {
  const fail = () => {
    throw new RangeError(`broken ${called(ctx.instance.id, "break")}`)
  }
  await ctx.do("break", fail, { retry: { maxAttempts: 2, initialInterval: 1 } })
})

export const WorkflowRunner = createWorkflowRunner({
  workflows: [greet, approval, parent, guardian, taker, ladder, bulky, ledger, refusing, counting, wide, failing],
})
