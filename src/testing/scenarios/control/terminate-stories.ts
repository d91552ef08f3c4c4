import { describe, expect, it } from "vitest"
import { TerminatedError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function terminateStories(open: OpenBed): void {
  describe("terminate", () => {
    it("ends at once, runs no more of its code, and drops a late result", async () => {
      const gate = new Gate<string>()
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        try {
          await ctx.do("work", () => gate.passed)
          calls.push("went on")
        } finally {
          calls.push("finally")
          await ctx.do("clean up", () => void calls.push("clean up"))
        }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.terminate("broken")).toMatchObject({ id: "i", accepted: true, status: "terminated" })
      expect(await handle.status()).toBe("terminated")
      gate.open("late")
      await engine.skip("1d")
      await engine.crash()
      expect(calls).toEqual([])
      expect(await stepsSeen(handle)).toEqual(["work aborted"])
      await expect(handle.result()).rejects.toBeInstanceOf(TerminatedError)
      await expect(handle.result()).rejects.toMatchObject({ details: { instance: "i", reason: "broken" } })
    })

    it("works on every instance that is not over: delayed, sleeping, waiting, paused, cancelling", async () => {
      const flow = workflow("flow", async (ctx, input: "sleep" | "wait" | "work") => {
        if (input === "sleep") await ctx.sleep("nap", "1d")
        else if (input === "wait") await ctx.waitForEvent("word")
        else await ctx.do("work", () => new Promise<never>(() => undefined))
      })
      const engine = await open({ workflows: [flow] })
      const delayed = await engine.start(flow, { input: "wait", delay: "1h" })
      const sleeping = await engine.start(flow, { input: "sleep" })
      const waiting = await engine.start(flow, { input: "wait" })
      const paused = await engine.start(flow, { input: "wait" })
      const cancelling = await engine.start(flow, { input: "work" })
      await engine.settle()
      await paused.pause()
      await cancelling.cancel()
      await engine.settle()
      for (const handle of [delayed, sleeping, waiting, paused, cancelling]) expect(await handle.terminate()).toMatchObject({ accepted: true })
      await engine.skip("2d")
      expect(await engine.count({}, "status")).toEqual({ terminated: 5 })
    })

    it("of an ended instance is refused, and changes nothing", async () => {
      const flow = workflow("flow", async () => "done")
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await handle.result()
      expect(await handle.terminate()).toMatchObject({ accepted: false, status: "completed" })
      expect(await handle.result()).toBe("done")
      await expect(engine.get("nobody").terminate()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("rejects the result for waiting callers", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      const result = handle.result().catch((error: unknown) => error)
      await engine.settle()
      await handle.terminate()
      expect(await result).toMatchObject({ code: "TERMINATED" })
    })

    it("a terminated instance can be restarted", async () => {
      const gate = new Gate<string>()
      const flow = workflow("flow", (ctx) => ctx.do("work", () => (ctx.instance.run === 1 ? gate.passed : "second run")))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.terminate()
      expect(await handle.restart()).toMatchObject({ accepted: true })
      await engine.settle()
      gate.open("from the first run")
      await engine.settle()
      expect(await handle.result()).toBe("second run")
    })
  })
}
