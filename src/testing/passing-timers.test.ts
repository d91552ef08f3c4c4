import { describe, expect, it } from "vitest"
import type { Context } from "../core/workflow/context.ts"
import { workflow } from "../core/workflow/workflow.ts"
import { createTestEngine } from "./test-engine.ts"

const reminder = workflow("reminder", async (ctx: Context<{ done: string }>) => {
  const done: string[] = []
  await ctx.sleep("nap", "1d")
  await ctx.sleep("nap", "2d")
  const answer = await ctx.waitForEvent("done", { timeout: "7d", default: "late" })
  await ctx.do("remind", ({ attempt }) => {
    if (attempt < 3) throw new Error(`attempt ${attempt}`)
    done.push("reminded")
  })
  return [answer, ...done]
})

describe("passAtOnce", () => {
  it("lets sleeps end, waits time out and steps try again without moving time", async () => {
    await using engine = await createTestEngine({ workflows: [reminder] })
    const startedAt = engine.now()
    for (const what of ["sleeps", "timeouts", "retries"] as const) engine.passAtOnce(reminder, what)
    const handle = await engine.start(reminder)
    expect(await handle.result()).toEqual(["late", "reminded"])
    expect(engine.now()).toBe(startedAt)
  })

  it("applies to one name, to the n-th of a name, and to chosen instances", async () => {
    await using engine = await createTestEngine({ workflows: [reminder] })
    const startedAt = engine.now()
    engine.passAtOnce(reminder, "sleeps", { step: "nap", nth: 2, instance: "a" })
    engine.passAtOnce(reminder, "timeouts", { step: "done", instance: (id) => id === "a" })
    engine.passAtOnce("reminder", "retries", { step: "remind" })
    await engine.start(reminder, { id: "a" })
    await engine.start(reminder, { id: "b" })
    await engine.skip("1d")
    expect(await engine.get("a").status()).toBe("completed")
    await engine.skipToEnd("b")
    expect(engine.now()).toBe(startedAt + 10 * 86_400_000)
  })

  it("lets a wait time out although its event came before, and ends when it is disposed of", async () => {
    await using engine = await createTestEngine({ workflows: [reminder] })
    const passing = engine.passAtOnce(reminder, "timeouts")
    for (const id of ["a", "b"]) {
      const handle = await engine.start(reminder, { id })
      await engine.sendEvent(handle, "done", "in time")
      await engine.skipToEnd(id)
      expect(await handle.result()).toEqual([id === "a" ? "late" : "in time", "reminded"])
      passing[Symbol.dispose]()
    }
  })
})

describe("skipUntil", () => {
  it("moves time until the condition holds, and no further", async () => {
    await using engine = await createTestEngine({ workflows: [reminder] })
    const startedAt = engine.now()
    const handle = await engine.start(reminder)
    await engine.skipUntil(async () => (await handle.status()) === "waiting")
    expect(engine.now()).toBe(startedAt + 3 * 86_400_000)
  })

  it("waits for a step that takes real time, before it moves time", async () => {
    const slow = workflow("slow", async (ctx) => ctx.do("fetch", () => new Promise((resolve) => setTimeout(() => resolve("fetched"), 50)), { timeout: "1s" }))
    await using engine = await createTestEngine({ workflows: [slow] })
    const handle = await engine.start(slow)
    await engine.skipUntil(async () => (await handle.status()) === "completed")
    expect(await handle.result()).toBe("fetched")
  })

  it("refuses a condition that time alone cannot meet", async () => {
    const waiting = workflow("waiting", (ctx) => ctx.waitForEvent("word"))
    await using engine = await createTestEngine({ workflows: [waiting] })
    const handle = await engine.start(waiting)
    await expect(engine.skipUntil(async () => (await handle.status()) === "completed")).rejects.toMatchObject({ code: "NOTHING_MOVES" })
  })
})

describe("mockStep", () => {
  const twice = workflow("twice", async (ctx) => {
    const first = await ctx.do("charge", () => "own", { retry: { initialInterval: 1, maxAttempts: 3 }, timeout: "10s" })
    return [first, await ctx.do("charge", () => "own", { retry: { maxAttempts: 1 } }).catch((error: Error) => error.cause)]
  })

  it("replaces only the n-th step of a name, and only in chosen instances", async () => {
    await using engine = await createTestEngine({ workflows: [twice] })
    engine.mockStep(twice, "charge", "first", { nth: 1, instance: "a" })
    engine.mockStep(twice, "charge", "second", { nth: 2, instance: (id) => id === "b" })
    const [a, b] = await Promise.all(["a", "b"].map((id) => engine.start(twice, { id })))
    expect([await a!.result(), await b!.result()]).toEqual([
      ["first", "own"],
      ["own", "second"],
    ])
  })

  it("lets a function call the original, or let the attempt time out", async () => {
    await using engine = await createTestEngine({ workflows: [twice] })
    engine.mockStep(twice, "charge", "older", { nth: 1 })
    engine.mockStep(twice, "charge", ({ attempt }, { original, timeOut }) => (attempt === 1 ? timeOut() : `mocked ${String(original())}`), { nth: 1 })
    engine.mockStep(twice, "charge", (_, { timeOut }) => timeOut(), { nth: 2 })
    const handle = await engine.start(twice)
    await engine.skipToEnd(handle.id)
    expect(await handle.result()).toMatchObject(["mocked older", { code: "STEP_TIMEOUT" }])
    const failures = (await handle.history()).entries
      .filter(({ type }) => type === "step.failed")
      .map(({ data }) => (data["value"] as { details: unknown }).details)
    expect(failures).toEqual([{ step: "charge", timeoutMs: 10_000 }, { step: "charge#2" }])
  })

  it("ends when it is disposed of", async () => {
    await using engine = await createTestEngine({ workflows: [twice] })
    const mocked = engine.mockStep(twice, "charge", "mocked")
    expect(await (await engine.start(twice)).result()).toEqual(["mocked", "mocked"])
    mocked[Symbol.dispose]()
    expect(await (await engine.start(twice)).result()).toEqual(["own", "own"])
  })
})
