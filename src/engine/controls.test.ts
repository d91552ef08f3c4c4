import { describe, expect, it } from "vitest"
import { type Context, workflow } from "../index.ts"
import { sqlite } from "../sqlite.ts"
import { createTestEngine } from "../testing.ts"

const waiting = workflow("waiting", async (ctx: Context<{ letter: number }>) => ctx.waitForEvent("letter"))

describe("controls given one right after the other, before the first is taken in", () => {
  it("a resume undoes a pause", async () => {
    await using engine = await createTestEngine({ workflows: [waiting] })
    const handle = await engine.start(waiting, { id: "a" })
    await engine.settle()
    expect(await handle.pause()).toMatchObject({ accepted: true })
    expect(await handle.resume()).toMatchObject({ accepted: true })
    await engine.settle()
    expect(await handle.status()).toBe("waiting")
    expect((await handle.history()).entries.slice(-2).map(({ type }) => type)).toEqual(["paused", "resumed"])
  })

  it("a pause after a resume pauses again", async () => {
    await using engine = await createTestEngine({ workflows: [waiting] })
    const handle = await engine.start(waiting, { id: "a" })
    await engine.settle()
    await handle.pause()
    await engine.settle()
    expect(await handle.resume()).toMatchObject({ accepted: true })
    expect(await handle.pause()).toMatchObject({ accepted: true })
    await engine.settle()
    expect(await handle.status()).toBe("paused")
  })
})

describe("what a caller without types passes", () => {
  it("is refused before it reaches the store, and what others send at the same time is delivered", async () => {
    await using engine = await createTestEngine({ workflows: [waiting], store: sqlite(":memory:") })
    for (const id of ["a", "b"]) await engine.start(waiting, { id })
    const bad = { eventId: 7 } as never
    const [good, refused] = await Promise.allSettled([engine.get("b").sendEvent("letter", 1), engine.get("a").sendEvent("letter", 1, bad)])
    expect(good.status).toBe("fulfilled")
    expect(refused).toMatchObject({ reason: { code: "BAD_OPTION", message: "eventId must be a string; it is of type number" } })
    const handle = engine.get("a")
    for (const refusal of [handle.pause({} as never), handle.cancel({} as never), handle.terminate({ reason: {} as never })])
      await expect(refusal).rejects.toMatchObject({ code: "BAD_OPTION", message: "reason must be a string; it is of type object" })
    expect(await engine.get("a").status()).toBe("waiting")
  })
})

describe("restart", () => {
  it("gives a delayed instance the timeout that it was started with, without the delay", async () => {
    await using engine = await createTestEngine({ workflows: [waiting] })
    const handle = await engine.start(waiting, { id: "a", delay: "10m", timeout: "1h" })
    await engine.skip("10m")
    await handle.restart()
    await engine.settle()
    expect((await handle.why()).next).toEqual({ what: "its timeout cancels it", at: engine.now() + 3_600_000 })
  })
})
