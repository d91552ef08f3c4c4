import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function pauseStories(open: OpenBed): void {
  describe("pause and resume", () => {
    it("lets running attempts finish and records them, with phase pausing, and begins nothing new", async () => {
      const gates = [new Gate<string>(), new Gate<string>()]
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const both = await Promise.all([ctx.do("a", () => gates[0]?.passed), ctx.do("b", () => gates[1]?.passed)])
        await ctx.do("next", () => void calls.push("next"))
        return both
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.pause("lunch")).toMatchObject({ id: "i", accepted: true })
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "pausing" })
      gates[0]?.open("A")
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "pausing" })
      gates[1]?.open("B")
      await engine.settle()
      const description = await handle.describe()
      expect(description.status).toBe("paused")
      expect(description.phase).toBeUndefined()
      expect(await stepsSeen(handle)).toEqual(["a completed", "b completed"])
      await engine.skip("1d")
      expect(calls).toEqual([])
      expect(await handle.resume()).toMatchObject({ accepted: true })
      await engine.settle()
      expect(await handle.result()).toEqual(["A", "B"])
      expect(calls).toEqual(["next"])
    })

    it("timers are not frozen: they act on resume", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.sleep("nap", "1h")
        return ctx.waitForEvent("word", { timeout: "1h", default: "none" })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.skip("3h")
      expect(await handle.status()).toBe("paused")
      expect(await stepsSeen(handle)).toEqual(["nap sleeping"])
      await handle.resume()
      await engine.settle()
      expect(await stepsSeen(handle)).toEqual(["nap completed", "word waiting"])
      await engine.skip("1h")
      expect(await handle.result()).toBe("none")
    })

    it("events are kept and act on resume, in their order, also over a crash", async () => {
      const flow = workflow("flow", async (ctx) => [await ctx.waitForEvent("word"), await ctx.waitForEvent("word")])
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      await engine.sendEvent("i", "word", 1)
      await engine.crash()
      await engine.sendEvent("i", "word", 2)
      expect(await stepsSeen(handle)).toEqual(["word waiting"])
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toEqual([1, 2])
    })

    it("an event that came in time goes before a timeout that passed during the pause", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word", { timeout: "1h", default: "none" }))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.sendEvent("i", "word", "in time")
      await engine.skip("2h")
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toBe("in time")
    })

    it("survives a crash, and an attempt that the crash cut off is made again only after resume", async () => {
      const attempts: number[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("work", ({ attempt }) => {
          attempts.push(attempt)
          return attempt === 1 ? new Promise<never>(() => undefined) : "done"
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ phase: "pausing" })
      await engine.crash()
      await engine.skip("1h")
      expect(attempts).toEqual([1])
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toBe("done")
      expect(attempts).toEqual([1, 2])
    })

    it("an engine that closes before the attempt ends leaves the instance to be paused by the next", async () => {
      const flow = workflow("flow", (ctx) => ctx.do("work", ({ attempt }) => (attempt === 1 ? new Promise<never>(() => undefined) : "done")))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      await engine.close()
      await engine.open()
      await engine.settle()
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toBe("done")
    })

    it("a retry does not begin while paused", async () => {
      const attempts: number[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("flaky", ({ attempt }) => {
          attempts.push(attempt)
          if (attempt === 1) throw new Error("later")
          return "done"
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.skip("1h")
      expect(attempts).toEqual([1])
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toBe("done")
    })

    it("pause and resume in quick succession change nothing", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      for (let i = 0; i < 5; i++) {
        await handle.pause()
        await handle.resume()
      }
      await engine.settle()
      if ((await handle.status()) === "paused") await handle.resume()
      await engine.sendEvent("i", "word", 1)
      expect(await handle.result()).toBe(1)
    })

    it("resume of what is not paused changes nothing and says so; so does pause of what is over", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.resume()).toMatchObject({
        accepted: false,
        status: "waiting",
        reason: expect.stringContaining("neither paused nor stalled") as string,
      })
      await engine.sendEvent("i", "word", 1)
      for (const answer of [await handle.pause(), await handle.resume()])
        expect(answer).toMatchObject({ accepted: false, status: "completed", reason: expect.stringContaining("completed") as string })
      await expect(engine.get("nobody").pause()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("a delayed instance that is paused does not begin until it is resumed", async () => {
      const calls: string[] = []
      const flow = workflow("flow", (ctx) => ctx.do("a", () => calls.push("a")))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", delay: "1h" })
      await handle.pause()
      await engine.settle()
      await engine.skip("2h")
      expect(calls).toEqual([])
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toBe(1)
    })

    it("a paused instance costs no memory and no work", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      expect(engine.current.components.worker.residents.size).toBe(0)
      const before = engine.current.components.worker.committer.turns
      await engine.sendEvent("i", "word", 1)
      await engine.skip("1d")
      expect(engine.current.components.worker.committer.turns).toBe(before)
    })

    it("the timeout of the instance that passes during a pause acts on resume", async () => {
      const flow = workflow("flow", { timeout: "1h" }, (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.skip("2h")
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      await engine.settle()
      await expect(handle.result()).rejects.toMatchObject({ code: "INSTANCE_TIMEOUT" })
    })

    it("a step inside a step does not begin while paused", async () => {
      const gate = new Gate()
      const calls: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("outer", async ({ step }) => {
          await step.do("a", () => gate.passed)
          return step.do("b", () => calls.push("b"))
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      gate.open()
      await engine.skip("1h")
      expect(calls).toEqual([])
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toBe(1)
    })

    it("is paused when all that a crash cut off inside a step waits to be begun again", async () => {
      const gates = [new Gate(), new Gate()]
      let entered = 0
      const flow = workflow("flow", (ctx) =>
        ctx.do("outer", async ({ step }) => {
          if (entered++ > 0) await gates[0]?.passed
          return step.do("middle", async ({ step: inside }) => inside.do("inner", () => gates[1]?.passed))
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await handle.pause()
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "pausing" })
      gates[0]?.open()
      await engine.settle()
      expect(await handle.status()).toBe("paused")
      gates[1]?.open()
      await handle.resume()
      await engine.settle()
      expect(await handle.status()).toBe("completed")
    })
  })
}
