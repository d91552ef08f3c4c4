import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function restartStories(open: OpenBed): void {
  describe("restart", () => {
    it("is a new run of the same input, and the old one stays readable", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx: Context, input: { name: string }) => {
        await ctx.do("greet", () => void calls.push(`${input.name} ${ctx.instance.run}`))
        return `run ${ctx.instance.run} for ${input.name}`
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: { name: "Ada" } })
      expect(await handle.result()).toBe("run 1 for Ada")
      const before = await entriesSeen(handle)
      await engine.skip("1h")
      expect(await handle.restart()).toMatchObject({ id: "i", accepted: true })
      await engine.settle()
      expect(await handle.result()).toBe("run 2 for Ada")
      expect(calls).toEqual(["Ada 1", "Ada 2"])
      expect(await handle.describe()).toMatchObject({ run: 2, status: "completed", input: { name: "Ada" } })
      expect(await entriesSeen(handle, 1)).toEqual(before)
      expect(await entriesSeen(handle, 2)).toEqual(before)
      expect(await entriesSeen(handle)).toEqual([...before, ...before])
      const positions = (await handle.history()).entries.map(({ position }) => position)
      expect(positions).toEqual(positions.map((_, index) => index + 1))
    })

    it("works on a running instance: what was under way is dropped", async () => {
      const flow = workflow("flow", (ctx) => ctx.do("work", () => (ctx.instance.run === 1 ? new Promise<never>(() => undefined) : "second")))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const result = handle.result()
      await handle.restart()
      expect(await result).toBe("second")
      expect(await stepsSeen(handle)).toEqual(["work completed"])
    })

    it("works on sleeping, waiting, paused, cancelled and delayed ones", async () => {
      const flow = workflow("flow", async (ctx: Context, input: "sleep" | "wait") => {
        if (ctx.instance.run === 2) return "second"
        if (input === "sleep") await ctx.sleep("nap", "1d")
        else await ctx.waitForEvent("word")
        return "first"
      })
      const engine = await open({ workflows: [flow] })
      const sleeping = await engine.start(flow, { input: "sleep" })
      const waiting = await engine.start(flow, { input: "wait" })
      const paused = await engine.start(flow, { input: "wait" })
      const cancelled = await engine.start(flow, { input: "wait" })
      const delayed = await engine.start(flow, { input: "wait", delay: "1d" })
      await engine.settle()
      await paused.pause()
      await cancelled.cancel()
      await engine.settle()
      for (const handle of [sleeping, waiting, paused, cancelled, delayed]) {
        await handle.restart()
        await engine.settle()
        expect(await handle.result()).toBe("second")
      }
    })

    it("events that the old run had not consumed are not delivered to the new one", async () => {
      const flow = workflow("flow", async (ctx) => [await ctx.waitForEvent("word"), await ctx.waitForEvent("word")])
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.sendEvent("i", "word", "for the old run")
      await handle.pause()
      await engine.settle()
      await engine.sendEvent("i", "word", "unread by the old run")
      await handle.restart()
      await engine.settle()
      expect(await stepsSeen(handle)).toEqual(["word waiting"])
      await engine.sendEvent("i", "word", 1)
      await engine.sendEvent("i", "word", 2)
      expect(await handle.result()).toEqual([1, 2])
    })

    it("an event id that the old run received is new to the next", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.sendEvent("i", "word", "first", { eventId: "e" })
      expect(await handle.result()).toBe("first")
      await handle.restart()
      await engine.settle()
      await engine.sendEvent("i", "word", "second", { eventId: "e" })
      expect(await handle.result()).toBe("second")
    })

    it("from a step keeps what was recorded before it began", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const a = await ctx.do("a", () => (calls.push("a"), calls.length))
        await ctx.sleep("nap", "1h")
        const word = await ctx.waitForEvent("word")
        const b = await ctx.do("b", () => (calls.push("b"), calls.length))
        return [a, word, b, await ctx.do("c", () => (calls.push("c"), calls.length))]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1h")
      await engine.sendEvent("i", "word", "hello")
      expect(await handle.result()).toEqual([1, "hello", 2, 3])
      expect(await handle.restart({ from: "b" })).toMatchObject({ accepted: true })
      await engine.settle()
      expect(await handle.result()).toEqual([1, "hello", 4, 5])
      expect(calls).toEqual(["a", "b", "c", "b", "c"])
      expect(await stepsSeen(handle)).toEqual(["a completed", "nap completed", "word completed", "b completed", "c completed"])
      expect(await handle.describe()).toMatchObject({ run: 2 })
    })

    it("from a step again and again, from other steps each time, over crashes", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const results: string[] = []
        for (const name of ["a", "b", "c", "d"]) results.push(await ctx.do(name, () => (calls.push(name), `${name}${ctx.instance.run}`)))
        return results
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      expect(await handle.result()).toEqual(["a1", "b1", "c1", "d1"])
      const restarted = async (from: string) => {
        await handle.restart({ from })
        await engine.crash()
        return handle.result()
      }
      expect(await restarted("c")).toEqual(["a1", "b1", "c2", "d2"])
      expect(await restarted("d")).toEqual(["a1", "b1", "c2", "d3"])
      expect(await restarted("b")).toEqual(["a1", "b4", "c4", "d4"])
      expect(await restarted("d")).toEqual(["a1", "b4", "c4", "d5"])
      await handle.restart()
      await engine.settle()
      expect(await handle.result()).toEqual(["a6", "b6", "c6", "d6"])
      for (const [run, results] of [
        [2, ["a1", "b1", "c2", "d2"]],
        [4, ["a1", "b4", "c4", "d4"]],
      ] as const) {
        const { entries } = await handle.history({ run })
        expect(entries.filter(({ type }) => type === "step.completed").map(({ data }) => data["value"])).toEqual(results)
      }
    })

    it("from a step that was tried again, or is the second of its name", async () => {
      const attempts: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const first = await ctx.do("try", ({ attempt }) => {
          attempts.push(`try ${attempt}`)
          if (attempt === 1) throw new Error("again")
          return "first"
        })
        return [first, await ctx.do("try", () => (attempts.push("try#2"), `second ${ctx.instance.run}`))]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await handle.restart({ from: "try#2" })
      await engine.settle()
      expect(await handle.result()).toEqual(["first", "second 2"])
      await handle.restart({ from: "try" })
      await engine.skip("1m")
      expect(await handle.result()).toEqual(["first", "second 3"])
      expect(attempts).toEqual(["try 1", "try 2", "try#2", "try#2", "try 1", "try 2", "try#2"])
    })

    it("from a step while others were under way: those begin again", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const slow = ctx.do("slow", ({ attempt }) => {
          calls.push(`slow ${attempt}`)
          return ctx.instance.run === 1 ? new Promise<never>(() => undefined) : "slow"
        })
        const quick = await ctx.do("quick", () => "quick")
        const last = await ctx.do("last", () => (calls.push("last"), "last"))
        return [quick, last, await slow]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.restart({ from: "last" })
      await engine.settle()
      expect(await handle.result()).toEqual(["quick", "last", "slow"])
      expect(calls).toEqual(["slow 1", "last", "slow 2", "last"])
    })

    it("from a step of a failed run gives it another chance", async () => {
      let healthy = false
      const calls: string[] = []
      const flow = workflow("flow", { retry: { maxAttempts: 1 } }, async (ctx) => {
        await ctx.do("a", () => void calls.push("a"))
        return ctx.do("b", () => {
          calls.push("b")
          if (!healthy) throw new Error("down")
          return "up"
        })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED" })
      healthy = true
      await handle.restart({ from: "b" })
      await engine.settle()
      expect(await handle.result()).toBe("up")
      expect(calls).toEqual(["a", "b", "b"])
    })

    it("from a step of a cancelled run leaves the cancel behind", async () => {
      const flow = workflow("flow", async (ctx) => {
        const a = await ctx.do("a", () => "a")
        if (ctx.instance.run === 1) await ctx.sleep("nap", "1d")
        return [a, await ctx.do("b", () => "b")]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(await handle.status()).toBe("cancelled")
      await handle.restart({ from: "nap" })
      await engine.settle()
      expect(await handle.result()).toEqual(["a", "b"])
    })

    it("from a step that the run does not have is refused, and changes nothing", async () => {
      const flow = workflow("flow", (ctx) => ctx.do("a", () => 1))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await handle.result()
      await expect(handle.restart({ from: "zzz" })).rejects.toMatchObject({ code: "UNKNOWN_STEP", details: { step: "zzz" } })
      expect(await handle.describe()).toMatchObject({ run: 1, status: "completed" })
      await expect(engine.get("nobody").restart()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("a timeout of the instance counts from the restart", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", timeout: "1h" })
      await engine.skip("30m")
      await handle.restart()
      await engine.skip("59m")
      expect(await handle.status()).toBe("waiting")
      await engine.skip("1m")
      expect(await handle.status()).toBe("failed")
    })

    it("from a step inside a step enters the outer one again with what is recorded before", async () => {
      const calls: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("outer", async ({ step, attempt }) => {
          calls.push(`outer ${attempt}`)
          const a = await step.do("a", () => `a${ctx.instance.run}`)
          return a + (await step.do("b", () => `b${ctx.instance.run}`))
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      expect(await handle.result()).toBe("a1b1")
      await handle.restart({ from: "outer/b" })
      await engine.settle()
      expect(await handle.result()).toBe("a1b2")
      expect(calls).toEqual(["outer 1", "outer 1"])
    })
  })
}
