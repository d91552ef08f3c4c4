import { describe, expect, it } from "vitest"
import { type Context, workflow } from "../../index.ts"
import { SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { Turn } from "../../ports/journal-store.ts"
import type { Store, StoreProvider } from "../../ports/store.ts"
import { sqlite } from "../../sqlite.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { createTestEngine } from "../../testing.ts"
import { Engine } from "../engine.ts"
import { overriding } from "../method-overrides.ts"

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

describe("a pause that was answered while a step runs", () => {
  it.each([
    ["memory", memory],
    ["SQLite", () => sqlite(":memory:")],
  ])("is taken in before the next step begins, on %s", async (_, store) => {
    const [begun, gate] = [new Gate(), new Gate()]
    const steps: string[] = []
    const long = workflow("long", async (ctx: Context) => {
      await ctx.do("first", () => {
        begun.open()
        return gate.passed
      })
      await ctx.do("second", () => steps.push("second"))
    })
    await using engine = await createTestEngine({ workflows: [long], store: store() })
    const handle = await engine.start(long, { id: "a" })
    await begun.passed
    expect(await handle.pause()).toMatchObject({ accepted: true })
    gate.open()
    await engine.settle()
    expect([await handle.status(), steps]).toEqual(["paused", []])
  })
})

describe("what a caller without types passes", () => {
  it("is refused before it reaches the store, and what others send at the same time is delivered", async () => {
    await using engine = await createTestEngine({ workflows: [waiting], store: sqlite(":memory:") })
    for (const id of ["a", "b"]) await engine.start(waiting, { id })
    const bad = { eventId: 7 } as never
    const [good, refused] = await Promise.allSettled([engine.get("b").sendEvent("letter", 1), engine.get("a").sendEvent("letter", 1, bad)])
    expect(good.status).toBe("fulfilled")
    expect(refused).toMatchObject({ reason: { code: "BAD_OPTION", message: "eventId is 7; give a string" } })
    const handle = engine.get("a")
    for (const refusal of [handle.pause({} as never), handle.cancel({} as never), handle.terminate({ reason: {} as never })])
      await expect(refusal).rejects.toMatchObject({ code: "BAD_OPTION", message: "reason is an object; give a string" })
    expect(await engine.get("a").status()).toBe("waiting")
  })
})

describe("restart", () => {
  it("is due when it is written, however fast the clock goes: else nobody would be told of it", async () => {
    const turns: Turn[] = []
    const store: StoreProvider = {
      name: "noted",
      async open(context) {
        const open = await memory().open(context)
        const commit: Store["journal"]["commit"] = (batch) => {
          turns.push(...batch)
          return open.journal.commit(batch)
        }
        return overriding<Store>(open, { journal: overriding(open.journal, { commit }) })
      },
    }
    const host = new (class extends SimulatedHost {
      #ticks = 0
      override now(): number {
        return super.now() + this.#ticks++
      }
    })()
    const engine = await Engine.open({ host, store, workflows: [waiting], options: {} })
    await engine.start(waiting, { id: "a" })
    await engine.terminate("a")
    turns.length = 0
    expect(await engine.restart("a")).toMatchObject({ accepted: true })
    const { at, state } = turns[0] ?? {}
    expect(state).toMatchObject({ run: 2, dueAt: at })
    await engine.close()
  })

  it("gives a delayed instance the timeout that it was started with, without the delay", async () => {
    await using engine = await createTestEngine({ workflows: [waiting] })
    const handle = await engine.start(waiting, { id: "a", delay: "10m", timeout: "1h" })
    await engine.skip("10m")
    await handle.restart()
    await engine.settle()
    expect((await handle.why()).next).toEqual({ what: "its timeout cancels it", at: engine.now() + 3_600_000 })
  })
})
