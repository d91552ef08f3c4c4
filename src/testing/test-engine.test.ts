import { describe, expect, it } from "vitest"
import type { Context } from "../core/workflow/context.ts"
import { workflow } from "../core/workflow/workflow.ts"
import { sqlite } from "../stores/sqlite/sqlite-provider.ts"
import { createTestEngine, expectReplay } from "./test-engine.ts"

const order = workflow("order", async (ctx: Context, input: number) => {
  const price = await ctx.do("price", () => input * 10)
  await ctx.sleep("cool-off", "24h")
  const charged = await ctx.do("charge", () => `charged ${price}`)
  const again = await ctx.do("charge", () => `charged ${price} again`)
  return [charged, again]
})

describe("the test engine", () => {
  it("skips time from timer to timer until an instance ends", async () => {
    await using engine = await createTestEngine({ workflows: [order] })
    const startedAt = engine.now()
    const handle = await engine.start(order, { id: "i", input: 1 })
    await engine.skipToEnd("i")
    expect(engine.now()).toBe(startedAt + 86_400_000)
    expect(await handle.result()).toEqual(["charged 10", "charged 10 again"])
  })

  it("says why an instance does not end when only time passes", async () => {
    const waiting = workflow("waiting", (ctx) => ctx.waitForEvent("word"))
    await using engine = await createTestEngine({ workflows: [waiting], lease: "52w" })
    const handle = await engine.start(waiting, { id: "i" })
    await handle.pause()
    await expect(engine.skipToEnd("i")).rejects.toThrow(/does not end when only time passes: it is paused/)
  })

  it("hands a transaction of the caller's on to the engine, of a batch too", async () => {
    await using engine = await createTestEngine({ workflows: [order] })
    await expect(
      engine.startBatch([{ workflow: order, id: "i", input: 1 }], { transaction: { query: () => Promise.resolve({ rows: [], rowCount: 0 }) } }),
    ).rejects.toMatchObject({ code: "NO_TRANSACTIONS" })
    expect((await engine.list()).instances).toEqual([])
  })

  it("begins at the time that it is given", async () => {
    await using engine = await createTestEngine({ workflows: [order], startAt: new Date("2030-01-01T00:00:00Z") })
    expect(new Date(engine.now()).toISOString()).toBe("2030-01-01T00:00:00.000Z")
    await engine.skip("36h")
    expect(new Date(engine.now()).toISOString()).toBe("2030-01-02T12:00:00.000Z")
  })

  it("replaces steps by a value, a function or an error, by name or by id, so many times", async () => {
    await using engine = await createTestEngine({ workflows: [order], retry: { initialInterval: "1s" } })
    engine.mockStep(order, "price", 7)
    engine.mockStep("order", "charge#2", ({ attempt }) => `second, attempt ${attempt}`)
    engine.mockStep(order, "charge", new Error("declined"), { times: 2 })
    const handle = await engine.start(order, { id: "i", input: 1 })
    await engine.skipToEnd("i")
    expect(await handle.result()).toEqual(["charged 7", "second, attempt 1"])
    expect((await handle.steps()).map(({ id, attempts }) => `${id} ${attempts}`)).toEqual(["price 1", "cool-off 1", "charge 3", "charge#2 1"])
  })

  it("keeps what was replaced replaced after a crash", async () => {
    await using engine = await createTestEngine({ workflows: [order] })
    engine.mockStep(order, "charge", "free of charge")
    const handle = await engine.start(order, { id: "i", input: 1 })
    await engine.crash()
    await engine.skipToEnd("i")
    expect(await handle.result()).toEqual(["free of charge", "free of charge"])
  })

  it("rejects a result that can never come at once, with what to do", async () => {
    await using engine = await createTestEngine({ workflows: [order] })
    const handle = await engine.start(order, { id: "i", input: 1 })
    await expect(handle.result()).rejects.toMatchObject({
      code: "NOTHING_MOVES",
      message: expect.stringMatching(/^instance "i" has no result, and nothing moves in the test engine: .*"cool-off".* skipToEnd\("i"\)/) as string,
      details: { instance: "i", status: "sleeping" },
    })
    await expect(handle.result({ timeout: "1h" })).rejects.toMatchObject({ code: "NOTHING_MOVES" })
    await engine.skipToEnd("i")
    expect(await handle.result()).toEqual(["charged 10", "charged 10 again"])
  })

  it("keeps a result waiting while the test moves time, sends, crashes the engine, or a step waits for something real", async () => {
    let answer: (value: string) => void = () => undefined
    const real = new Promise<string>((resolve) => (answer = resolve))
    const waiting = workflow("waiting", async (ctx: Context) => {
      await ctx.waitForEvent("word")
      await ctx.sleep("a while", "1h")
      return ctx.do("slow", () => real)
    })
    await using engine = await createTestEngine({ workflows: [waiting] })
    const handle = await engine.start(waiting, { id: "i" })
    const early = handle.result()
    const awaited = handle.result().then((value) => `then ${value}`)
    await engine.settle()
    await engine.crash()
    await engine.sendEvent("i", "word")
    await engine.skip("1h")
    for (let macrotasks = 0; macrotasks < 200; macrotasks++) await new Promise((resolve) => setImmediate(resolve))
    answer("done")
    expect(await early).toBe("done")
    expect(await awaited).toBe("then done")
  })

  it("refuses at its close to have replaced a step that no instance asked for", async () => {
    const engine = await createTestEngine({ workflows: [order] })
    engine.mockStep(order, "chrage", "free")
    engine.mockStep(order, "refund", "free", { optional: true })
    engine.mockStep("another", "charge", "free")
    engine.mockStep(order, "charge#2", "free")
    await engine.start(order, { id: "i", input: 1 })
    await engine.skipToEnd("i")
    await expect(engine.close()).rejects.toMatchObject({
      code: "UNKNOWN_STEP",
      message:
        'mockStep: no instance of workflow "order" asked for step "chrage"; did you mean "charge"? The steps that ran are "price", "charge", "charge#2". Say { optional: true } if the workflow need not come to this step',
      details: { workflow: "order", step: "chrage" },
    })
    await engine.close()
  })

  it("keeps SQLite in memory through a crash", async () => {
    const counted = workflow("counted", async (ctx: Context) => {
      await ctx.transaction("count", (sql) => {
        sql.run("CREATE TABLE IF NOT EXISTS counter (n INTEGER)")
        sql.run("INSERT INTO counter VALUES (1)")
      })
      await ctx.sleep("a while", "1h")
      return ctx.transaction("look", (sql) => sql.get<{ n: number }>("SELECT count(*) AS n FROM counter")?.n)
    })
    await using engine = await createTestEngine({ workflows: [counted], store: sqlite(":memory:") })
    const handle = await engine.start(counted, { id: "i" })
    await engine.settle()
    await engine.crash()
    await engine.skipToEnd("i")
    expect(await handle.result()).toBe(1)
  })

  it("is the same from seed to seed", async () => {
    const random = workflow("random", async (ctx) => [ctx.random(), ctx.uuid(), await ctx.do("key", ({ idempotencyKey }) => idempotencyKey)])
    const results: unknown[] = []
    for (const seed of ["a", "a", "b"]) {
      await using engine = await createTestEngine({ workflows: [random], seed })
      results.push(await (await engine.start(random, { id: "i" })).result())
    }
    expect(results[0]).toEqual(results[1])
    expect(results[0]).not.toEqual(results[2])
  })
})

describe("expectReplay", () => {
  const journalOf = async (id = "i") => {
    await using engine = await createTestEngine({ workflows: [order] })
    await engine.start(order, { id, input: 1 })
    await engine.settle()
    const half = await engine.journal(id)
    await engine.skipToEnd(id)
    return { half, whole: await engine.journal(id) }
  }

  it("brings the code to where the journal ends, without running a step", async () => {
    const { half, whole } = await journalOf()
    expect((await expectReplay(whole, order)).outcome).toEqual({ ok: true, value: ["charged 10", "charged 10 again"] })
    const replayed = await expectReplay(half, order)
    expect(replayed.outcome).toBeUndefined()
    expect(replayed.state.status).toBe("sleeping")
  })

  it("a journal is plain data, so that it can be kept as a file", async () => {
    const { whole } = await journalOf()
    expect(JSON.parse(JSON.stringify(whole))).toEqual(whole)
  })

  it("throws, with both sides named, where code and journal disagree", async () => {
    const { whole } = await journalOf()
    const other = workflow("order", async (ctx: Context) => ctx.do("prices", () => 1))
    await expect(expectReplay(whole, other)).rejects.toMatchObject({
      code: "JOURNAL_MISMATCH",
      message: expect.stringContaining('the journal has step "price" at position 2, but the code asks for step "prices"') as string,
    })
    const shorter = workflow("order", async (ctx: Context, input: number) => ctx.do("price", () => input))
    await expect(expectReplay(whole, shorter)).rejects.toThrow(/has sleep "cool-off" at position \d+, but the code ends without asking for it/)
  })
})
