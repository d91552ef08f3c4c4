import { describe, expect, it } from "vitest"
import { type Context, workflow } from "../../index.ts"
import { createTestEngine } from "../../testing/test-engine.ts"

const collector = workflow("collector", async (ctx: Context<{ letter: number }>) => {
  const letters: number[] = []
  while (letters.length < 3) letters.push(await ctx.waitForEvent("letter"))
  return letters
})

describe("events that arrive while an instance is paused", () => {
  it("keep their order when more arrive together with the resume", async () => {
    await using engine = await createTestEngine({ workflows: [collector] })
    const handle = await engine.start(collector, { id: "a" })
    await engine.settle()
    await handle.pause()
    await engine.settle()
    const { store, worker } = engine.current.components
    const letter = (payload: string) => ({ instance: "a", kind: "event", topic: "letter", payload, at: engine.now() }) as const
    await store.directory.deliver([letter("1"), { instance: "a", kind: "resume", at: engine.now() }, letter("2"), letter("3")])
    worker.hint(["a"])
    await engine.settle()
    expect(await handle.result()).toEqual([1, 2, 3])
  })

  it("are received once, and so is the resume", async () => {
    await using engine = await createTestEngine({ workflows: [collector] })
    const handle = await engine.start(collector, { id: "a" })
    await engine.settle()
    await handle.pause()
    await engine.settle()
    await handle.sendEvent("letter", 1)
    await handle.resume()
    await engine.settle()
    const types = (await handle.history()).entries.map(({ type }) => type)
    expect(types).toEqual(["run.started", "wait.started", "paused", "resumed", "event.received", "wait.completed", "wait.started"])
  })

  it("stay in the inbox after a crash", async () => {
    await using engine = await createTestEngine({ workflows: [collector] })
    const handle = await engine.start(collector, { id: "a" })
    await engine.settle()
    await handle.pause()
    await engine.sendEvent("a", "letter", 1)
    await engine.sendEvent("a", "letter", 2)
    await engine.crash()
    await engine.sendEvent("a", "letter", 3)
    expect(await handle.status()).toBe("paused")
    await handle.resume()
    await engine.settle()
    expect(await handle.result()).toEqual([1, 2, 3])
  })
})
