// The store has a clock of its own, and somebody sets that clock.

import { describe, expect, it } from "vitest"
import type { Context } from "../core/workflow/context.ts"
import { workflow } from "../core/workflow/workflow.ts"
import { SimulatedHost } from "../hosts/simulated/simulated-host.ts"
import type { StoreContext, StoreProvider } from "../ports/store.ts"
import { memory } from "../stores/memory/memory-provider.ts"
import { createTestEngine, type TestEngineOptions } from "../testing/test-engine.ts"
import { Engine } from "./engine.ts"
import { overriding } from "./method-overrides.ts"
import { onStoreClock } from "./store-clock-host.ts"
import { Timers } from "./worker/timers.ts"

const minuteMs = 60_000

/** A store with a clock of its own, which the test sets. */
function storeClock() {
  const clock = { setMs: 0 }
  const inner = memory()
  const provider: StoreProvider = {
    ...inner,
    open: async (context) => {
      const now = () => context.now() + clock.setMs
      const opened = await inner.open({ ...context, now })
      return overriding(opened, { now })
    },
  }
  return { clock, provider }
}

describe("an engine on a store whose clock is set", () => {
  const hourMs = 60 * minuteMs
  const anything = workflow("anything", async (ctx: Context, kind: "sleep" | "wait" | "retry") => {
    await ctx.waitForEvent("go")
    if (kind === "sleep") await ctx.sleep("nap", "5s")
    else if (kind === "wait") await ctx.waitForEvent("answer", { timeout: "5s", default: null })
    else await ctx.do("try", ({ attempt }) => attempt > 1 || Promise.reject(new Error("not yet")), { retry: { initialInterval: "5s", jitter: 0 } })
  })
  const open = async (options: Partial<TestEngineOptions> = {}) => {
    const { clock, provider } = storeClock()
    const engine = await createTestEngine({ workflows: [anything, ...(options.workflows ?? [])], lease: "30s", store: provider, ...options })
    return { clock, engine }
  }

  it.each(["sleep", "wait", "retry"] as const)("back: a %s that begins afterwards lasts as long as usual", async (kind) => {
    const { clock, engine } = await open()
    const handle = await engine.start(anything, { input: kind })
    await engine.skip("1s")
    clock.setMs -= hourMs
    await engine.skip("10s")
    await handle.sendEvent("go")
    await engine.skip("6s")
    expect(await handle.status()).toBe("completed")
    await engine.close()
  })

  it.each([
    ["forward", hourMs],
    ["back", -hourMs],
  ])("%s, an attempt has the time that it was given, and so has whoever waits for a result", async (_, byMs) => {
    const errors: string[] = []
    const slow = workflow("slow", async (ctx: Context) => {
      const long = ctx.do("work", () => new Promise<string>(() => {}), { timeout: "30m", retry: { maxAttempts: 1 } })
      await long.catch((error: Error) => errors.push(error.message))
    })
    const { clock, engine } = await open({ workflows: [slow] })
    const handle = await engine.current.start(slow, {})
    let isGivenUp = false
    void handle.result({ timeout: "20m" }).catch(() => (isGivenUp = true))
    await engine.skip("1m")
    clock.setMs += byMs
    await engine.skip("18m")
    expect([isGivenUp, errors]).toEqual([false, []])
    await engine.skip("1m")
    expect(isGivenUp).toBe(true)
    await engine.skip("9m")
    expect(errors).toEqual([])
    await engine.skip("1m")
    expect(errors).toHaveLength(1)
    await engine.close()
  })

  it("back: the timeout of a step continues with its remaining time after a nested sleep", async () => {
    const ended: number[] = []
    const napper = workflow("napper", async (ctx: Context) => {
      await ctx
        .do(
          "work",
          async ({ step }) => {
            await new Promise<void>((resolve) => void (proceed = resolve))
            await step.sleep("nap", "5s")
            await new Promise<void>(() => {})
          },
          { timeout: "60s", retry: { maxAttempts: 1 } },
        )
        .catch(() => ended.push(1))
    })
    let proceed: () => void = () => undefined
    const { clock, engine } = await open({ workflows: [napper] })
    await engine.start(napper, {})
    await engine.skip("10s")
    clock.setMs -= hourMs
    proceed()
    await engine.skip("50s")
    expect(ended).toEqual([])
    await engine.skip("6s")
    expect(ended).toEqual([1])
    await engine.close()
  })

  it("back: an instance that another process has ended leaves memory within two minutes", async () => {
    const aborted: unknown[] = []
    const held = workflow("held", async (ctx: Context) =>
      ctx.do("work", ({ signal }) => new Promise<string>((_, reject) => signal.addEventListener("abort", () => (aborted.push(1), reject(new Error("over")))))),
    )
    const { clock, provider } = storeClock()
    // All hints are lost, so only a comparison with the store can notice the end.
    const deaf = { ...provider, open: async (context: StoreContext) => overriding(await provider.open(context), { onHint: () => () => undefined }) }
    const engine = await createTestEngine({ workflows: [held], store: deaf, lease: "30s", sweep: "10s" })
    await engine.start(held, { id: "held" })
    await engine.skip("30s")
    clock.setMs -= hourMs
    await engine.skip("2m")
    expect(aborted).toEqual([])
    const other = await Engine.open({ host: engine.host, store: provider, workflows: [held], options: {}, role: "client" })
    await other.terminate("held")
    await engine.skip("2m")
    expect(aborted).toEqual([1])
    await other.close()
    await engine.close()
  })
})

describe("timers on a clock that jumps", () => {
  const open = () => {
    const host = new SimulatedHost()
    const store = { setMs: 0, now: () => host.now() + store.setMs }
    const timers = new Timers(onStoreClock(host, store))
    const fired: [name: string, passedMs: number][] = []
    const fire = (name: string) => () => fired.push([name, host.monotonicMs()])
    const set = (name: string, inMs: number) => timers.set(store.now() + inMs, fire(name))
    const after = (name: string, ms: number) => timers.after(ms, fire(name))
    const pass = (ms: number) => host.advanceTo(host.now() + ms, () => Promise.resolve())
    return { store, fired, set, after, pass, timers }
  }

  it.each([60_000, -60_000])("by %i ms: durations keep their length, and instants follow the clock", async (byMs) => {
    const { store, fired, set, after, pass, timers } = open()
    const long = after("duration", 90_000)
    set("instant", 100_000)
    await pass(5_000)
    store.setMs += byMs
    expect(timers.remainingMs(long)).toBe(85_000)
    await pass(200_000)
    expect(fired.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
      ["duration", 90_000],
      ["instant", byMs > 0 ? 90_000 : 160_000],
    ])
  })

  it("forward: due timers fire as soon as another timer is set", async () => {
    const { store, fired, set, after, pass } = open()
    set("b", 5_000)
    set("a", 1_000)
    set("c", 80_000)
    store.setMs += 60_000
    after("d", 100)
    await pass(200)
    expect(fired.map(([name]) => name)).toEqual(["a", "b", "d"])
    await pass(30_000)
    expect(fired.slice(3)).toEqual([["c", 20_000]])
  })
})
