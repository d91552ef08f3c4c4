// The order of events for concurrent senders. It needs the real Node host, because it depends on how promises of senders, inbox and instance interleave.

import { type Context, Perdure, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { memory } from "perdure/testing"
import { expect, it } from "vitest"

const notes = Array.from({ length: 50 }, (_, index) => index)

const listener = workflow("listener", async (ctx: Context<{ note: number }>) => {
  const heard: number[] = []
  for (const _ of notes) heard.push(await ctx.waitForEvent("note"))
  return heard
})

const burst = 3_000

const counter = workflow("counter", async (ctx: Context<{ note: number }>, count: number) => {
  for (let number = 0; number < count; number++) if ((await ctx.waitForEvent("note")) !== number) throw new Error(`${number} did not come`)
  return count
})

it.each([
  ["memory", memory],
  ["SQLite", () => sqlite(":memory:")],
])("events that follow each other closely come in the order in which they were sent, on %s", async (_, store) => {
  const engine = await Perdure.open({ store: store(), workflows: [listener] })
  for (const gap of [0, 1, 2, 3]) {
    const handle = await engine.start(listener)
    const send = async (note: number) => {
      for (let i = 0; i < note * gap; i++) await Promise.resolve()
      await handle.sendEvent("note", note)
    }
    await Promise.all(notes.map(send))
    expect(await handle.result()).toEqual(notes)
  }
  await engine.close()
})

it("timers of the process fire during a burst of events, whether they are awaited or not", async () => {
  const engine = await Perdure.open({ store: sqlite(":memory:"), workflows: [counter] })
  for (const isAwaited of [false, true]) {
    const handle = await engine.start(counter, { input: burst })
    let fired = 0
    const timer = setInterval(() => fired++, 1)
    const sent: Promise<void>[] = []
    for (let number = 0; number < burst; number++) {
      sent.push(handle.sendEvent("note", number))
      if (isAwaited) await sent.at(-1)
    }
    await Promise.all(sent)
    clearInterval(timer)
    expect(await handle.result()).toBe(burst)
    expect(fired).toBeGreaterThan(2)
  }
  await engine.close()
})
