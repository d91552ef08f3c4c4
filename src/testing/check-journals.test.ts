import { afterEach, describe, expect, it } from "vitest"
import type { Context } from "../core/workflow/context.ts"
import type { PayloadCodec } from "../core/values/payload-codecs.ts"
import { workflow } from "../core/workflow/workflow.ts"
import type { JournalExport } from "../engine/diagnostics/read-only-replay.ts"
import { checkJournals } from "./check-journals.ts"
import { createTestEngine, type TestEngine } from "./test-engine.ts"

const order = workflow("order", async (ctx: Context, input: number) => {
  const price = await ctx.do("price", () => input * 2)
  const paid = await ctx.waitForEvent("paid")
  await ctx.do("ship", () => paid)
  return price
})
const renamed = workflow("order", async (ctx: Context, input: number) => {
  await ctx.do("cost", () => input * 2)
  await ctx.waitForEvent("paid")
})
const reordered = workflow("order", async (ctx: Context, input: number) => {
  const price = await ctx.do("price", () => input * 2)
  await ctx.sleep("cool-off", "1d")
  await ctx.waitForEvent("paid")
  return price
})
const extended = workflow("order", async (ctx: Context, input: number) => {
  const price = await ctx.do("price", () => input * 2)
  await ctx.waitForEvent("paid")
  await ctx.do("thank", () => price)
})
const throwing = workflow("order", async (ctx: Context, input: number) => {
  const price = await ctx.do<{ amount: { cents: number } }>("price", () => ({ amount: { cents: input } }))
  if (price.amount.cents > 0) await ctx.waitForEvent("paid")
})

const engines: TestEngine[] = []
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

async function engineWith(count: number): Promise<TestEngine> {
  const engine = await createTestEngine({ workflows: [order] })
  engines.push(engine)
  for (let i = 0; i < count; i++) await engine.start(order, { id: `o${i}`, input: i })
  await engine.settle()
  return engine
}

describe("journals checked against other code", () => {
  it("the code that recorded them fits, and so does code that goes on differently", async () => {
    const engine = await engineWith(3)
    await engine.sendEvent("o2", "paid", 1)
    for (const code of [order, extended]) {
      expect(await checkJournals([code], engine.current)).toEqual({ checked: 2, problems: [], stillStalled: [], cured: [] })
    }
  })

  it("each instance that would stall is named, with its step and both sides", async () => {
    const engine = await engineWith(2)
    const { checked, problems } = await checkJournals([renamed], engine.current)
    expect(checked).toBe(2)
    expect(problems.map(({ instance }) => instance).toSorted()).toEqual(["o0", "o1"])
    expect(problems[0]).toMatchObject({
      kind: "stalls",
      workflow: "order",
      version: "1",
      status: "waiting",
      step: "price",
      position: 2,
      expected: 'step "price"',
      found: 'asks for step "cost"',
      message: 'the journal has step "price" at position 2, but the code asks for step "cost"',
    })
  })

  it("what it finds is what a deploy does", async () => {
    const engine = await engineWith(1)
    const { problems } = await checkJournals([reordered], engine.current)
    await engine.crash({ workflows: [reordered] })
    await engine.sendEvent("o0", "paid", 1)
    await engine.skip("5s")
    const why = await engine.get("o0").why()
    expect(why.status).toBe("stalled")
    expect(why.because[0]).toContain(problems[0]?.message)
  })

  it("a version that nobody offers any more is named, with those that there are", async () => {
    const engine = await engineWith(1)
    const second = workflow("order", { version: "2" }, async () => undefined)
    const message = async (...code: (typeof second)[]) => (await checkJournals(code, engine.current)).problems[0]
    expect(await message(second)).toMatchObject({ kind: "no-version", message: 'there is no version "1" of workflow "order" any more; there is "2"' })
    expect(await message()).toMatchObject({ kind: "no-version", message: 'there is no workflow "order" any more' })
  })

  it("code that throws on what older code recorded is named", async () => {
    const engine = await engineWith(1)
    const waiting = await checkJournals([throwing], engine.current)
    expect(waiting.problems).toMatchObject([
      { kind: "stalls", step: "paid", found: expect.stringMatching(/^throws TypeError: .*cents.* instead of asking for it$/) as string },
    ])
    await engine.start(order, { id: "later", input: 1, delay: "1h" })
    const refusing = workflow("order", async () => Promise.reject(new Error("not here")))
    const later = await checkJournals([refusing], engine.current, { filter: { idPrefix: "later" } })
    expect(later.problems).toMatchObject([{ kind: "fails", instance: "later", message: "its code throws on what is recorded: Error: not here" }])
  })

  it("an instance that is being cancelled ends in an error, which is no finding", async () => {
    const held = workflow("held", async (ctx: Context) => {
      await ctx.do("work", ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => setImmediate(resolve))))
      await ctx.sleep("nap", "1d")
    })
    const engine = await createTestEngine({ workflows: [held] })
    engines.push(engine)
    await engine.start(held, { id: "h" })
    await engine.settle()
    await engine.get("h").cancel()
    const { problems } = await checkJournals([held], engine.current)
    expect(problems).toEqual([])
  })

  it("stalled instances: those that the code cures, and those that it does not", async () => {
    const engine = await engineWith(1)
    await engine.crash({ workflows: [reordered] })
    await engine.sendEvent("o0", "paid", 1)
    await engine.skip("5s")
    expect(await checkJournals([order], engine.current)).toEqual({ checked: 1, problems: [], stillStalled: [], cured: ["o0"] })
    const still = await checkJournals([renamed], engine.current)
    expect(still).toMatchObject({ problems: [], stillStalled: [{ instance: "o0", kind: "stalls" }], cured: [] })
  })

  it("code may await something of its own, such as an import", async () => {
    const importing = workflow("order", async (ctx: Context, input: number) => {
      const { sqrt } = await new Promise<Math>((resolve) => setTimeout(() => resolve(Math), 1))
      const price = await ctx.do("price", () => sqrt(input))
      await ctx.waitForEvent("paid")
      return price
    })
    const engine = await engineWith(20)
    expect((await checkJournals([importing], engine.current)).problems).toEqual([])
  })

  it("journals that were kept, and what any other client tells, are checked in the same way", async () => {
    const engine = await engineWith(3)
    const kept: JournalExport[] = [await engine.journal("o0"), await engine.journal("o1")]
    expect(await checkJournals([order], kept)).toMatchObject({ checked: 2, problems: [] })
    expect((await checkJournals([renamed], kept)).problems).toHaveLength(2)
    const { current } = engine
    const client = { list: current.list.bind(current), describe: current.describe.bind(current), get: current.get.bind(current) } as Pick<
      typeof current,
      "list" | "describe" | "get"
    >
    expect(await checkJournals([order], client)).toMatchObject({ checked: 3, problems: [] })
    expect((await checkJournals([renamed], client)).problems).toHaveLength(3)
  })

  it("values that a codec encoded are decoded by it, of an engine and of journals that were kept", async () => {
    const turned: PayloadCodec = { id: "turned", encode: (bytes) => bytes.toReversed(), decode: (bytes) => bytes.toReversed() }
    const strict = workflow("order", async (ctx: Context, input: number) => {
      const price = await ctx.do("price", () => input * 2)
      if (price !== input * 2) throw new Error(`the price of ${input} is ${price}`)
      await ctx.waitForEvent("paid")
    })
    const engine = await createTestEngine({ workflows: [strict], codec: turned })
    engines.push(engine)
    await engine.start(strict, { id: "o", input: 7 })
    await engine.settle()
    expect(await checkJournals([strict], engine.current)).toMatchObject({ checked: 1, problems: [] })
    const kept = JSON.parse(JSON.stringify([await engine.journal("o")])) as JournalExport[]
    expect(kept[0]?.rows[0]?.entries).toContain("turned:")
    expect(await checkJournals([strict], kept, { retiredCodecs: [turned] })).toMatchObject({ checked: 1, problems: [] })
    expect((await checkJournals([strict], kept)).problems).toHaveLength(1)
  })

  it("the last run counts, also one that keeps what an earlier one recorded", async () => {
    const engine = await engineWith(1)
    await engine.sendEvent("o0", "paid", 1)
    await engine.get("o0").restart({ from: "paid" })
    await engine.settle()
    expect((await checkJournals([order], engine.current)).problems).toEqual([])
    expect((await checkJournals([renamed], engine.current)).problems).toHaveLength(1)
  })

  it("many are checked page by page, and progress is told", async () => {
    const engine = await engineWith(450)
    const told: number[] = []
    const report = await checkJournals([order], engine.current, { onProgress: (checked) => told.push(checked), filter: { idPrefix: "o" } })
    expect(report.checked).toBe(450)
    expect(told.at(-1)).toBe(450)
    expect((await checkJournals([renamed], engine.current)).problems).toHaveLength(450)
  })
})
