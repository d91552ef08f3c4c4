import { afterEach, describe, expect, it } from "vitest"
import type { Context } from "../../core/workflow/context.ts"
import type { PayloadCodec } from "../../core/values/payload-codecs.ts"
import { workflow } from "../../core/workflow/workflow.ts"
import { eventSchema } from "../../dialects/class/event-schema.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { sqlite } from "../../stores/sqlite/sqlite-provider.ts"
import { createTestEngine, type TestEngine } from "../../testing/test-engine.ts"
import { exportInstance, exportLines, type InstanceExport, parseExports } from "./instance-export.ts"
import { importInstance, type ImportOptions } from "./instance-import.ts"

const calls: string[] = []
const order = workflow("order", async (ctx: Context, input: { readonly id: number }) => {
  const number = ctx.random()
  const key = await ctx.do("reserve", ({ idempotencyKey }) => {
    calls.push("reserve")
    return { idempotencyKey, when: new Date(0), number }
  })
  const paid = await ctx.waitForEvent("paid")
  const shipped = await ctx.do("ship", ({ idempotencyKey }) => {
    calls.push("ship")
    return idempotencyKey
  })
  await ctx.sleep("cool-off", "1h")
  return { id: input.id, paid, key, shipped, again: ctx.random(), number }
})
const large = workflow("large", async (ctx: Context) => {
  const text = await ctx.do("write", () => "x".repeat(700_000))
  await ctx.waitForEvent("go")
  return text.length
})
const single = workflow("single", { singleton: true }, async (ctx: Context) => void (await ctx.waitForEvent("go")))
const limited = workflow("limited", { concurrency: 1, priority: 3 }, async (ctx: Context) => void (await ctx.waitForEvent("go")))
const declaring = workflow("declaring", { events: { go: eventSchema(), stop: eventSchema() } }, async (ctx) => ctx.waitForEvent("go"))
const workflows = [order, large, single, limited, declaring]

const engines: TestEngine[] = []
afterEach(async () => {
  calls.length = 0
  for (const engine of engines.splice(0)) await engine.close()
})

describe.each([
  ["memory", () => memory()],
  ["sqlite", () => sqlite(":memory:")],
])("an instance that is exported and imported, on %s", (_, provide) => {
  const open = async () => {
    const engine = await createTestEngine({ workflows, store: provide() })
    engines.push(engine)
    return engine
  }
  const storeOf = (engine: TestEngine) => engine.current.components.store
  /** By way of its text. */
  const exported = async (engine: TestEngine, id: string): Promise<InstanceExport> => {
    const lines = [...exportLines(await exportInstance(storeOf(engine), id), 1)]
    for await (const one of parseExports(lines)) return one
    throw new Error("nothing was exported")
  }
  const imported = async (engine: TestEngine, one: InstanceExport, options?: ImportOptions) => {
    const answer = await importInstance(storeOf(engine), engine.host, one, options)
    await engine.current.components.worker.refresh()
    await engine.settle()
    return answer
  }
  const started = async () => {
    const engine = await open()
    await engine.start(order, { id: "o", input: { id: 7 }, tags: ["red"] })
    await engine.settle()
    return engine
  }

  it("keeps the events that its workflow declares, also as a copy", async () => {
    const before = await open()
    await before.start(declaring, { id: "i" })
    await before.settle()
    const one = await exported(before, "i")
    expect(one.instance.events).toEqual(["go", "stop"])
    const after = await open()
    await imported(after, one)
    await imported(after, one, { id: "copy", resume: true })
    for (const id of ["i", "copy"]) await expect(after.get(id).sendEvent("gone")).rejects.toMatchObject({ code: "UNKNOWN_EVENT" })
    await after.sendEvent("copy", "go", 1)
    expect(await after.get("copy").result()).toBe(1)
    const [head = "", ...rest] = [...exportLines(one, 1)]
    const broken = [head.replace('["go","stop"]', "[7]"), ...rest]
    await expect(parseExports(broken).next()).rejects.toMatchObject({ code: "BAD_EXPORT" })
  })

  it("has everything: its row, its journal and its unread messages", async () => {
    const from = await started()
    await from.get("o").pause("for the move")
    await from.settle()
    await from.sendEvent("o", "paid", { amount: 10n })
    const to = await open()
    const one = await exported(from, "o")
    expect(one.messages).toHaveLength(1)
    expect(await imported(to, one)).toEqual({ id: "o", status: "paused" })
    const { updatedAt: _at, ...there } = await to.get("o").describe()
    const { updatedAt: __at, ...here } = await from.get("o").describe()
    expect(there).toEqual(here)
    expect(await exportInstance(storeOf(to), "o")).toEqual(await exportInstance(storeOf(from), "o"))
    await to.get("o").resume()
    await to.settle()
    await to.skip("1h")
    expect(await to.get("o").result()).toMatchObject({ id: 7, paid: { amount: 10n } })
    expect(calls).toEqual(["reserve", "ship"])
  })

  it("comes in paused if it is not over, does nothing until it is resumed, and then goes on as it would have there", async () => {
    const from = await started()
    const to = await open()
    expect(await imported(to, await exported(from, "o"))).toEqual({ id: "o", status: "paused" })
    expect((await to.get("o").why()).because[0]).toContain("(imported); resume it")
    await to.sendEvent("o", "paid", 1)
    expect(calls).toEqual(["reserve"])
    await to.get("o").resume()
    await to.settle()
    await to.skip("1h")
    const there = await to.get("o").result()
    await from.sendEvent("o", "paid", 1)
    await from.skip("1h")
    expect(await from.get("o").result()).toEqual(there)
  })

  it("goes on at once where that is asked for", async () => {
    const from = await started()
    const to = await open()
    expect(await imported(to, await exported(from, "o"), { resume: true })).toEqual({ id: "o", status: "waiting" })
    await to.sendEvent("o", "paid", 1)
    await to.skip("1h")
    expect(await to.get("o").result()).toMatchObject({ paid: 1 })
  })

  it("wakes up when its time has come, if it is resumed as it is imported", async () => {
    const from = await started()
    await from.sendEvent("o", "paid", 1)
    const one = await exported(from, "o")
    expect(one.state.status).toBe("sleeping")
    const to = await open()
    await imported(to, one, { resume: true })
    await to.skip("1h")
    expect(await to.get("o").status()).toBe("completed")
  })

  it("keeps its id: one that is there is refused, and left as it is", async () => {
    const from = await started()
    const one = await exported(from, "o")
    const before = await exportInstance(storeOf(from), "o")
    await expect(imported(from, one)).rejects.toMatchObject({ code: "ID_EXISTS" })
    expect(await exportInstance(storeOf(from), "o")).toEqual(before)
  })

  it("is a copy under another id: the same results so far, idempotency keys of its own from there", async () => {
    const from = await started()
    const one = await exported(from, "o")
    expect(await imported(from, one, { id: "copy" })).toEqual({ id: "copy", status: "paused" })
    await from.get("copy").resume()
    await from.settle()
    for (const id of ["o", "copy"]) await from.sendEvent(id, "paid", 1)
    await from.skip("1h")
    const [first, second] = (await Promise.all([from.get("o").result(), from.get("copy").result()])) as { key: unknown; shipped: string; again: number }[]
    expect(second?.key).toEqual(first?.key)
    expect(second?.again).toBe(first?.again)
    expect(second?.shipped).not.toBe(first?.shipped)
    expect(calls).toEqual(["reserve", "ship", "ship"])
  })

  it("has all its runs", async () => {
    const from = await started()
    await from.get("o").restart()
    await from.settle()
    await from.sendEvent("o", "paid", 1)
    await from.skip("1h")
    const to = await open()
    await to.skip("1h")
    expect(await imported(to, await exported(from, "o"))).toEqual({ id: "o", status: "completed" })
    expect(await to.get("o").result()).toEqual(await from.get("o").result())
    expect((await to.get("o").history({ run: 1 })).entries).toEqual((await from.get("o").history({ run: 1 })).entries)
    await to.get("o").restart()
    await to.settle()
    expect(await to.get("o").status()).toBe("waiting")
  })

  it("has its large values", async () => {
    const from = await open()
    await from.start(large, { id: "l" })
    await from.settle()
    const to = await open()
    await imported(to, await exported(from, "l"), { resume: true })
    await to.sendEvent("l", "go")
    expect(await to.get("l").result()).toBe(700_000)
  })

  it("has its limits and its priority, and the keys that only one may have, while it is not over", async () => {
    const from = await open()
    await from.start(single, { id: "s" })
    await from.start(limited, { id: "l" })
    await from.settle()
    const [one, other] = [await exported(from, "s"), await exported(from, "l")]
    await from.sendEvent("s", "go")
    const over = await exported(from, "s")
    const to = await open()
    await to.start(single, { id: "there" })
    await to.settle()
    await expect(imported(to, one)).rejects.toMatchObject({ code: "SINGLETON_EXISTS" })
    expect((await to.list()).instances.map(({ id }) => id)).toEqual(["there"])
    expect(await imported(to, over)).toEqual({ id: "s", status: "completed" })
    await imported(to, other, { resume: true })
    expect((await exportInstance(storeOf(to), "l")).instance.flow).toEqual(other.instance.flow)
    await to.sendEvent("l", "go")
    expect(await to.get("l").status()).toBe("completed")
  })

  it("has its values as a codec encoded them, which the engine there must know, also as a copy", async () => {
    const codec: PayloadCodec = { id: "turned", encode: (bytes) => bytes.toReversed(), decode: (bytes) => bytes.toReversed() }
    const [from, to] = [await createTestEngine({ workflows, store: provide(), codec }), await createTestEngine({ workflows, store: provide(), codec })]
    engines.push(from, to)
    await from.start(order, { id: "o", input: { id: 7 } })
    await from.settle()
    const one = await exported(from, "o")
    expect(JSON.stringify(one.rows)).toContain("turned:")
    await imported(to, one, { resume: true })
    await imported(to, one, { id: "copy", resume: true })
    for (const id of ["o", "copy"]) await to.sendEvent(id, "paid", 1)
    await to.skip("1h")
    expect(await Promise.all(["o", "copy"].map((id) => to.get(id).result()))).toMatchObject([{ id: 7 }, { id: 7 }])
  })

  it("that is being cancelled cannot be held, and is refused unless it may go on", async () => {
    const stubborn = workflow("stubborn", async (ctx: Context) => void (await ctx.do("work", () => new Promise(() => undefined))))
    const from = await createTestEngine({ workflows: [stubborn], store: provide() })
    engines.push(from)
    await from.start(stubborn, { id: "c" })
    await from.settle()
    await from.get("c").cancel()
    await from.settle()
    const one = await exported(from, "c")
    const to = await createTestEngine({ workflows: [stubborn], store: provide() })
    engines.push(to)
    await expect(imported(to, one)).rejects.toMatchObject({ code: "BAD_OPTION" })
    await imported(to, one, { resume: true })
    await to.skip("30s")
    expect(await to.get("c").status()).toBe("cancelled")
  })
})

describe("a file that is no whole export", () => {
  const lines = async () => {
    const engine = await createTestEngine({ workflows })
    engines.push(engine)
    await engine.start(order, { id: "o", input: { id: 1 } })
    await engine.settle()
    return [...exportLines(await exportInstance(engine.current.components.store, "o"), 1)]
  }
  const read = async (text: readonly string[]) => {
    for await (const one of parseExports(text)) expect(one.instance.id).toBe("o")
  }

  it("is refused where it was cut off, anywhere", async () => {
    const whole = await lines()
    await read(whole)
    for (let length = 1; length < whole.length; length++) await expect(read(whole.slice(0, length))).rejects.toMatchObject({ code: "BAD_EXPORT" })
    const cut = [...whole.slice(0, -1), whole.at(-1)?.slice(0, 9) ?? ""]
    await expect(read(cut)).rejects.toThrow(`line ${whole.length} is no line of an export`)
  })

  it("is refused where a line is missing, of a newer format, or of something else", async () => {
    const whole = await lines()
    await expect(read([whole[0] ?? "", ...whole.slice(2)])).rejects.toMatchObject({ code: "BAD_EXPORT" })
    await expect(read(whole.slice(1))).rejects.toThrow("line 1 belongs to no instance")
    await expect(read([(whole[0] ?? "").replace('"format":1', '"format":2'), ...whole.slice(1)])).rejects.toThrow("this version knows 1; upgrade perdure")
    await expect(read(["{}", ...whole])).rejects.toThrow("line 1 is no line of an export")
    await expect(read(['{"type":"instance","format":1}', ...whole])).rejects.toThrow("line 1: instance is null; give an object")
  })

  it("may have empty lines, and several instances", async () => {
    const whole = await lines()
    await read([...whole, "", ...whole])
  })
})
