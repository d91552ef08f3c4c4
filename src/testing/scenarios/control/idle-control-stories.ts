import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"

/** Pause and cancel of instances that are not in memory, while their engine runs. */
export function idleControlStories(open: OpenBed): void {
  describe("pause and cancel of an instance that is not in memory", () => {
    let calls: string[] = []
    const flow = workflow("flow", async (ctx: Context<{ letter: number }>) => {
      try {
        await ctx.sleep("nap", "1d")
        const got = await ctx.waitForEvent("letter")
        await ctx.do("read", () => calls.push(`read ${got}`))
      } finally {
        await ctx.do("clean up", () => calls.push("clean up"))
      }
    })
    const bed = () => {
      calls = []
      return open({ workflows: [flow] })
    }

    it("of one that has not begun have their effect in the answer", async () => {
      const engine = await bed()
      const [paused, cancelled] = [await engine.start(flow, { id: "p", delay: "1h" }), await engine.start(flow, { id: "c", delay: "1h" })]
      await engine.settle()
      expect(await paused.pause()).toEqual({ id: "p", accepted: true, status: "paused" })
      expect(await cancelled.cancel("a mistake")).toEqual({ id: "c", accepted: true, status: "cancelled" })
      await expect(cancelled.result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: "a mistake" } })
      expect(await paused.cancel()).toEqual({ id: "p", accepted: true, status: "cancelled" })
      await engine.skip("2h")
      expect(calls).toEqual([])
    })

    it("of one that sleeps: a pause has its effect in the answer, a cancel has begun", async () => {
      const engine = await bed()
      for (const id of ["p", "c"]) await engine.start(flow, { id })
      await engine.settle()
      expect(await engine.get("p").pause()).toEqual({ id: "p", accepted: true, status: "paused" })
      expect(await engine.get("c").cancel()).toEqual({ id: "c", accepted: true, status: "running", phase: "cancelling" })
      await engine.settle()
      expect(await engine.get("c").status()).toBe("cancelled")
      expect(calls).toEqual(["clean up"])
      await engine.skip("2d")
      expect(await engine.get("p").status()).toBe("paused")
      expect(await engine.get("p").resume()).toMatchObject({ accepted: true })
      await engine.settle()
      expect(await engine.get("p").status()).toBe("waiting")
    })

    it("of one that waits: an event before the pause and one after it are received in their order", async () => {
      const engine = await bed()
      for (const id of ["p", "c"]) await engine.start(flow, { id })
      await engine.skip("1d")
      for (const id of ["p", "c"]) await engine.evict(id)
      expect(await engine.get("p").pause()).toEqual({ id: "p", accepted: true, status: "paused" })
      for (const letter of [1, 2]) await engine.sendEvent("p", "letter", letter)
      expect(await engine.get("c").cancel()).toEqual({ id: "c", accepted: true, status: "running", phase: "cancelling" })
      await engine.settle()
      expect([await engine.get("p").status(), await engine.get("c").status()]).toEqual(["paused", "cancelled"])
      expect(calls).toEqual(["clean up"])
      await engine.get("p").resume()
      await engine.settle()
      expect(calls).toEqual(["clean up", "read 1", "clean up"])
    })
  })
}
