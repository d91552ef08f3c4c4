import { describe, expect, it } from "vitest"
import { type Context, workflow } from "../index.ts"
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
