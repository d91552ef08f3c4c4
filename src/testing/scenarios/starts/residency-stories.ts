import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"

export function residencyStories(open: OpenBed): void {
  const flow = workflow("flow", async (ctx: Context, input: number) => {
    const doubled = await ctx.do("double", () => input * 2)
    await ctx.sleep("nap", "1m")
    const word = await ctx.waitForEvent("word")
    return `${doubled} ${String(word)}`
  })

  describe("memory", () => {
    it("room for three is enough for fifty that work and sleep", async () => {
      const work = workflow("work", async (ctx: Context, input: number) => {
        let sum = 0
        for (let i = 0; i < 5; i++) {
          sum += await ctx.do("add", () => input)
          if (i === 2) await ctx.sleep("nap", "1m")
        }
        return sum
      })
      let residentMax = 0
      const engine = await open({
        workflows: [work],
        maxResidentInstances: 3,
        interceptors: [
          (_step, next) => {
            residentMax = Math.max(residentMax, engine.current.components.worker.residents.size)
            return next()
          },
        ],
      })
      const handles = await Promise.all(Array.from({ length: 50 }, (_, i) => engine.start(work, { id: `i${i}`, input: i })))
      await engine.skip("5m")
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map((_, i) => i * 5))
      expect(residentMax).toBeLessThanOrEqual(3)
    })

    it("room for three is enough for fifty that wait for events", async () => {
      const engine = await open({ workflows: [flow], maxResidentInstances: 3, sweep: "5s" })
      const handles = await Promise.all(Array.from({ length: 50 }, (_, i) => engine.start(flow, { id: `i${i}`, input: i })))
      await engine.skip("30m")
      expect(await engine.count({}, "status")).toEqual({ waiting: 50 })
      await engine.crash()
      for (const handle of handles.toReversed()) await handle.sendEvent("word", handle.id)
      await engine.skip("30m")
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map(({ id }, i) => `${i * 2} ${id}`))
    })

    it("an evicted instance goes on with whatever comes next: a timer, an event, a control", async () => {
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1 })
      await engine.evict("i")
      expect(engine.current.components.worker.residents.get("i")).toBeUndefined()
      await engine.skip("1m")
      expect(await handle.status()).toBe("waiting")
      await engine.evict("i")
      await handle.pause()
      await engine.evict("i")
      await handle.resume()
      await engine.evict("i")
      await engine.sendEvent("i", "word", "hello")
      expect(await handle.result()).toBe("2 hello")
    })

    it("whoever waits for the result of an evicted instance gets it", async () => {
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1 })
      const result = handle.result()
      await engine.skip("1m")
      await engine.evict("i")
      await engine.sendEvent("i", "word", "hello")
      expect(await result).toBe("2 hello")
    })

    it("large journals make idle instances leave", async () => {
      const large = workflow("large", async (ctx) => {
        const text = await ctx.do("text", () => "x".repeat(100_000))
        await ctx.waitForEvent("word")
        return text.length
      })
      const engine = await open({ workflows: [large], maxResidentBytes: 300_000, sweep: "5s" })
      const handles = await Promise.all(Array.from({ length: 10 }, (_, i) => engine.start(large, { id: `i${i}` })))
      await engine.skip("10s")
      expect(engine.current.components.worker.residents.size).toBeLessThanOrEqual(3)
      for (const handle of handles) await handle.sendEvent("word")
      await engine.settle()
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map(() => 100_000))
    })
  })
}
