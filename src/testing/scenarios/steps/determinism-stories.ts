import { describe, expect, it } from "vitest"
import type { Logger } from "../../../ports/host.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"

export function determinismStories(open: OpenBed): void {
  describe("determinism helpers", () => {
    it("now, random and uuid give the same on replay", async () => {
      const seen: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        const values: unknown[] = [ctx.now(), ctx.random(), ctx.uuid()]
        await ctx.sleep("nap", "1h")
        values.push(ctx.now(), ctx.random(), ctx.random(), ctx.uuid())
        await ctx.do("a", () => 1)
        values.push(ctx.now(), ctx.startTime.getTime())
        seen.push(values)
        return ctx.waitForEvent("word")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1h")
      await engine.skip("5m")
      await engine.crash()
      await engine.skip("5m")
      await engine.sendEvent("i", "word", 1)
      await handle.result()
      expect(seen.length).toBeGreaterThan(1)
      for (const values of seen) expect(values).toEqual(seen[0])
    })

    it("random and uuid look random: in range, well formed, and others for other instances and runs", async () => {
      const flow = workflow("flow", async (ctx) => ({ random: Array.from({ length: 50 }, () => ctx.random()), uuid: ctx.uuid() }))
      const engine = await open({ workflows: [flow] })
      const handles = await Promise.all(["i", "j"].map((id) => engine.start(flow, { id })))
      const results = await Promise.all(handles.map((handle) => handle.result()))
      await handles[0]?.restart()
      await engine.settle()
      results.push(...(await Promise.all(handles.slice(0, 1).map((handle) => handle.result()))))
      for (const { random, uuid } of results) {
        expect(random.every((value) => value >= 0 && value < 1)).toBe(true)
        expect(new Set(random).size).toBe(50)
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      }
      expect(new Set(results.map(({ uuid }) => uuid)).size).toBe(3)
    })

    it("now is the time of the last entry seen, not of the clock", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.waitForEvent("word")
        return ctx.now()
      })
      const engine = await open({ workflows: [flow] })
      const startedAt = engine.now()
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("3h")
      await engine.sendEvent("i", "word")
      await engine.skip("3h")
      expect(await handle.result()).toBe(startedAt + 3 * 3_600_000)
    })

    it("log is silent during replay", async () => {
      const lines: string[] = []
      const note = (level: string) => (message: string, data?: Record<string, unknown>) => void lines.push(`${level} ${message} ${String(data?.["instance"])}`)
      const log: Logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") }
      const flow = workflow("flow", async (ctx) => {
        ctx.log.info("begins")
        await ctx.do("a", () => 1)
        ctx.log.warn("after a")
        await ctx.waitForEvent("word")
        ctx.log.error("after word")
        await ctx.sleep("nap", "1h")
        ctx.log.debug("ends")
      })
      const engine = await open({ workflows: [flow], log })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.evict("i")
      await engine.sendEvent("i", "word")
      await engine.crash()
      await engine.skip("1h")
      await handle.result()
      expect(lines).toEqual(["info begins i", "warn after a i", "error after word i", "debug ends i"])
    })
  })
}
