import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function sleepStories(open: OpenBed): void {
  describe("sleep", () => {
    it("lasts as long as it says, and the time of waking is fixed at the first call", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.sleep("nap", "1h")
        return ctx.now()
      })
      const engine = await open({ workflows: [flow] })
      const startedAt = engine.now()
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("25m")
      await engine.crash()
      await engine.skip("34m")
      await engine.evict("i")
      expect(await handle.status()).toBe("sleeping")
      expect(await handle.steps()).toMatchObject([{ id: "nap", type: "sleep", wakeAt: startedAt + 3_600_000 }])
      await engine.skip("1m")
      expect(await handle.result()).toBe(startedAt + 3_600_000)
    })

    it("sleepUntil takes a Date, a number or an ISO string", async () => {
      const at = Date.parse("2030-01-01T06:00:00Z")
      const flow = workflow("flow", async (ctx, input: Date | number | string) => {
        await ctx.sleepUntil("morning", input)
        return ctx.now()
      })
      const engine = await open({ workflows: [flow], startAt: at - 3_600_000 })
      const handles = await Promise.all([at, new Date(at), "2030-01-01T06:00:00Z"].map((input) => engine.start(flow, { input })))
      await engine.skip("59m")
      expect(await engine.count({ status: "sleeping" }, "status")).toEqual({ sleeping: 3 })
      await engine.skip("1m")
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([at, at, at])
    })

    it("until a time that is past returns at once", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.sleepUntil("yesterday", ctx.now() - 86_400_000)
        await ctx.sleep("no time", 0)
        return ctx.now()
      })
      const engine = await open({ workflows: [flow] })
      const startedAt = engine.now()
      const handle = await engine.start(flow)
      expect(await handle.result()).toBe(startedAt)
      expect(await stepsSeen(handle)).toEqual(["yesterday completed", "no time completed"])
    })

    it("short ones are exact to the millisecond", async () => {
      const flow = workflow("flow", async (ctx) => {
        const times: number[] = []
        for (const ms of [1, 10, 999, 5_000]) {
          await ctx.sleep("nap", ms)
          times.push(ctx.now())
        }
        return times
      })
      const engine = await open({ workflows: [flow] })
      const startedAt = engine.now()
      const handle = await engine.start(flow)
      await engine.skip("10s")
      expect((await handle.result()).map((time) => time - startedAt)).toEqual([1, 11, 1010, 6010])
    })

    it("many sleepers wake each at its time and in order, over a crash, and none is kept in memory", async () => {
      const woken: number[] = []
      const flow = workflow("flow", async (ctx, input: number) => {
        await ctx.sleep("nap", `${input}m`)
        await ctx.do("wake", () => void woken.push(input))
      })
      const engine = await open({ workflows: [flow] })
      const minutes = Array.from({ length: 300 }, (_, i) => 1 + ((i * 7) % 300))
      await Promise.all(minutes.map((input) => engine.start(flow, { input })))
      await engine.settle()
      expect(engine.current.components.worker.residents.size).toBe(0)
      await engine.skip("100m")
      expect(woken).toHaveLength(100)
      await engine.crash()
      await engine.skip("200m")
      expect(woken).toEqual(minutes.toSorted((a, b) => a - b))
      expect(await engine.count({}, "status")).toEqual({ completed: 300 })
    })

    it("a year is no problem", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.sleep("long", "52w")
        return "hello again"
      })
      const engine = await open({ workflows: [flow], lease: "30s", sweep: "1d" })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect((await handle.describe()).steps).toMatchObject([{ wakeAt: engine.now() + 364 * 86_400_000 }])
    })

    it("is given up through a signal, and replays so", async () => {
      const flow = workflow("flow", async (ctx) => {
        const patience = new AbortController()
        const sleeping = ctx.sleep("long", "1d", { signal: patience.signal }).catch((error: unknown) => error)
        const word = await ctx.waitForEvent("word")
        patience.abort(new Error("enough"))
        const given = await sleeping
        await ctx.sleep("short", "1m")
        return [word, (given as Error).message]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.sendEvent("i", "word", "stop")
      expect(await stepsSeen(handle)).toEqual(["long aborted", "word completed", "short sleeping"])
      await engine.crash()
      await engine.skip("1m")
      expect(await handle.result()).toEqual(["stop", "enough"])
    })

    it("with a signal that is aborted already is not even begun", async () => {
      const flow = workflow("flow", async (ctx) => {
        const signal = AbortSignal.abort(new Error("too late"))
        const given: unknown = await ctx.sleep("nap", "1d", { signal }).catch((error: unknown) => error)
        await ctx.waitForEvent("go")
        return (given as Error).message
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await stepsSeen(handle)).toEqual(["go waiting"])
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe("too late")
    })

    it("is given up before it was recorded, and replays so", async () => {
      const flow = workflow("flow", async (ctx) => {
        const patience = new AbortController()
        const given = ctx.sleep("nap", "1d", { signal: patience.signal }).catch((error: unknown) => (error as Error).message)
        patience.abort(new Error("not at all"))
        const answer = await given
        await ctx.sleep("nap", "1m")
        await ctx.waitForEvent("go")
        return answer
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.skip("1m")
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe("not at all")
      expect(await stepsSeen(handle)).toEqual(["nap#2 completed", "go completed"])
    })

    it("two that are due at the same moment: the first may give up the second, and replay agrees", async () => {
      const flow = workflow("flow", async (ctx) => {
        const patience = new AbortController()
        const first = ctx.sleep("first", "1m").then(() => patience.abort(new Error("given up")))
        const second = ctx.sleep("second", "1m", { signal: patience.signal }).then(
          () => "slept",
          (error: unknown) => (error as Error).message,
        )
        await first
        const answer = await second
        await ctx.waitForEvent("go")
        return answer
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      expect(await stepsSeen(handle)).toEqual(["first completed", "second aborted", "go waiting"])
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe("given up")
    })
  })
}
