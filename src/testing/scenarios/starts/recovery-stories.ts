import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function recoveryStories(open: OpenBed): void {
  describe("recovery", () => {
    it("an instance that kills its worker again and again is stalled, and resume gives it another chance", async () => {
      let calls = 0
      let fatal = true
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("harmless", () => 1)
        return ctx.do("fatal", () => {
          calls++
          return fatal ? new Promise<never>(() => undefined) : "cured"
        })
      })
      const engine = await open({ workflows: [flow], maxRecoveries: 3 })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      for (let crashes = 1; crashes <= 3; crashes++) {
        await engine.crash()
        expect(await handle.status()).toBe("running")
      }
      await engine.crash()
      expect(await handle.status()).toBe("stalled")
      expect(calls).toBe(4)
      expect((await handle.describe()).error).toMatchObject({ code: "STALLED", details: { code: "TOO_MANY_CRASHES" } })
      expect((await handle.why()).because.join()).toContain("died 4 times")
      await engine.crash()
      await engine.skip("1d")
      expect(calls).toBe(4)
      await handle.resume()
      await engine.settle()
      await engine.crash()
      await engine.crash()
      expect(await handle.status()).toBe("running")
      fatal = false
      await engine.crash()
      expect(await handle.result()).toBe("cured")
    })

    it("crashes do not count against an instance that makes progress", async () => {
      const flow = workflow("flow", async (ctx) => {
        for (let i = 0; i < 8; i++) await ctx.do("work", ({ attempt }) => (attempt === 1 ? new Promise<never>(() => undefined) : i))
        return "done"
      })
      const engine = await open({ workflows: [flow], maxRecoveries: 2 })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      for (let i = 0; i < 8; i++) await engine.crash()
      expect(await handle.result()).toBe("done")
    })

    it("an instance that sleeps or waits is not hit by a crash", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.sleep("nap", "1h")
        return ctx.waitForEvent("word")
      })
      const engine = await open({ workflows: [flow], maxRecoveries: 1 })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      for (let i = 0; i < 5; i++) await engine.crash()
      await engine.skip("1h")
      for (let i = 0; i < 5; i++) await engine.crash()
      expect(await handle.status()).toBe("waiting")
      expect(await entriesSeen(handle)).not.toContain("recovered")
      await engine.sendEvent("i", "word", 1)
      expect(await handle.result()).toBe(1)
    })

    it("closing the engine is not a crash: attempts may finish, and what does not is begun again", async () => {
      const gate = new Gate<string>()
      const attempts: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const [a, b] = await Promise.all([
          ctx.do("quick to end", () => gate.passed),
          ctx.do("endless", ({ attempt }) => {
            attempts.push(`endless ${attempt}`)
            return attempt === 1 ? new Promise<never>(() => undefined) : "in the end"
          }),
        ])
        return [a, b]
      })
      const engine = await open({ workflows: [flow], maxRecoveries: 0 })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const closing = engine.close()
      gate.open("recorded while closing")
      await closing
      await engine.open()
      await engine.settle()
      expect(await handle.result()).toEqual(["recorded while closing", "in the end"])
      expect(attempts).toEqual(["endless 1", "endless 2"])
      expect(await entriesSeen(handle)).not.toContain("recovered")
    })

    it("an instance that a crash left between creation and its first step begins", async () => {
      const flow = workflow("flow", async (ctx) => ctx.do("a", () => 1))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.crash()
      expect(await handle.result()).toBe(1)
    })

    it("crashes at every moment of a workflow lose and repeat nothing that is recorded", async () => {
      const flow = workflow("flow", async (ctx) => {
        const a = await ctx.do("a", () => "A")
        const [b, c] = await Promise.all([ctx.do("b", () => "B"), ctx.do("outer", ({ step }) => step.do("inner", () => "C"))])
        await ctx.sleep("nap", "1m")
        const word = await ctx.waitForEvent("word", { timeout: "1h", default: "none" })
        return [a, b, c, word].join("")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      for (let i = 0; i < 12; i++) {
        await engine.crash()
        await engine.skip("10s")
      }
      await engine.sendEvent("i", "word", "D")
      await engine.crash()
      expect(await handle.result()).toBe("ABCD")
      const completions = (await entriesSeen(handle)).filter((type) => type === "step.completed")
      expect(completions).toHaveLength(4)
      expect(await stepsSeen(handle)).toEqual(["a completed", "b completed", "outer completed", "outer/inner completed", "nap completed", "word completed"])
    })

    it("without the code of its version an instance stays as it is, and goes on when a worker has it", async () => {
      const one = workflow("flow", { version: "1" }, async (ctx) => [await ctx.waitForEvent("word"), "one"])
      const two = workflow("flow", { version: "2" }, async (ctx) => [await ctx.waitForEvent("word"), "two"])
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      await engine.settle()
      await engine.crash({ workflows: [two] })
      await engine.sendEvent("i", "word", "hello")
      expect(await handle.status()).toBe("waiting")
      expect((await handle.why()).because[0]).toMatch(/no worker here has version "1" of workflow "flow" \(it has "2"\)/)
      await engine.crash({ workflows: [two, one] })
      expect(await handle.result()).toEqual(["hello", "one"])
      expect((await engine.start("flow", { id: "j" })).id).toBe("j")
      expect(await engine.get("j").describe()).toMatchObject({ version: "1" })
    })
  })
}
