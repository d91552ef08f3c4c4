import { describe, expect, it } from "vitest"
import { workflow, type HookEvent } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"

export function hookStories(open: OpenBed): void {
  describe("hooks", () => {
    it("are called once for each ending, the workflow's and then the engine's", async () => {
      const calls: string[] = []
      const note = (who: string) => (event: HookEvent) => void calls.push(`${who} ${event.status} ${event.id}`)
      const hooks = (who: string) => ({ onCompleted: note(who), onFailed: note(who), onCancelled: note(who), onStalled: note(who) })
      const flow = workflow("flow", hooks("workflow"), async (ctx, input: string) => {
        if (input === "fail") throw new Error("no")
        if (input === "cancel") await ctx.waitForEvent("word")
        if (input === "stall") await new Promise<never>(() => undefined)
      })
      const engine = await open({ workflows: [flow], ...hooks("engine") })
      for (const input of ["complete", "fail", "cancel", "stall"]) {
        const handle = await engine.start(flow, { id: input, input })
        await engine.settle()
        if (input === "cancel") await handle.cancel()
        await engine.skip("5s")
      }
      const expected = ["completed complete", "failed fail", "cancelled cancel", "stalled stall"].flatMap((what) => [`workflow ${what}`, `engine ${what}`])
      expect(calls).toEqual(expected)
      await engine.crash()
      await engine.skip("1d")
      expect(calls).toEqual(expected)
    })

    it("are told how it ended", async () => {
      const events: HookEvent[] = []
      const flow = workflow("flow", { version: "3" }, async (_ctx, input: boolean) => {
        if (!input) throw new TypeError("no")
        return { done: true }
      })
      const hook = (event: HookEvent) => void events.push(event)
      const engine = await open({ workflows: [flow], onCompleted: hook, onFailed: hook })
      await engine.start(flow, { id: "a", input: true })
      await engine.settle()
      await engine.start(flow, { id: "b", input: false })
      await engine.settle()
      expect(events).toMatchObject([
        { id: "a", workflow: "flow", version: "3", run: 1, status: "completed", result: { done: true } },
        { id: "b", workflow: "flow", version: "3", run: 1, status: "failed", error: { name: "TypeError", message: "no" } },
      ])
    })

    it("one that a crash came before is called after it", async () => {
      const gate = new Gate()
      let calls = 0
      const flow = workflow("flow", { onCompleted: () => (++calls === 1 ? gate.passed : undefined) }, async () => "done")
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      expect(await handle.result()).toBe("done")
      await engine.settle()
      expect(calls).toBe(1)
      await engine.crash()
      expect(calls).toBe(2)
      await engine.crash()
      await engine.skip("1d")
      expect(calls).toBe(2)
      expect(await handle.result()).toBe("done")
    })

    it("one that fails is called again after a while, also over a crash, and the result does not wait for it", async () => {
      let calls = 0
      const flow = workflow(
        "flow",
        {
          onCompleted: () => {
            if (++calls < 3) throw new Error("the mail server is down")
          },
        },
        async () => "done",
      )
      const engine = await open({ workflows: [flow], retry: { initialInterval: "1m", maxAttempts: 5, jitter: 0 } })
      const handle = await engine.start(flow, { id: "i" })
      expect(await handle.result()).toBe("done")
      await engine.settle()
      expect(calls).toBe(1)
      await engine.crash()
      expect(calls).toBe(1)
      await engine.skip("1m")
      expect(calls).toBe(2)
      await engine.skip("1h")
      expect(calls).toBe(3)
      expect(await handle.status()).toBe("completed")
    })

    it("one that never works is given up, and the instance is as it was", async () => {
      let calls = 0
      const broken = () => {
        calls++
        throw new Error("never")
      }
      const flow = workflow("flow", { onFailed: broken }, async () => Promise.reject(new Error("no")))
      const engine = await open({ workflows: [flow], retry: { maxAttempts: 3 } })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1d")
      expect(calls).toBe(3)
      expect(await handle.status()).toBe("failed")
      await engine.crash()
      await engine.skip("1d")
      expect(calls).toBe(3)
    })

    it("an ending by terminate calls none; a restart's ending calls them again", async () => {
      const calls: string[] = []
      const flow = workflow("flow", { onCompleted: ({ run }) => void calls.push(`run ${run}`) }, (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.terminate()
      await engine.settle()
      expect(calls).toEqual([])
      for (const run of [2, 3]) {
        await handle.restart()
        await engine.settle()
        await engine.sendEvent("i", "word", run)
        expect(await handle.result()).toBe(run)
        await engine.settle()
      }
      expect(calls).toEqual(["run 2", "run 3"])
    })

    it("a hook may start another instance", async () => {
      const next = workflow("next", async (_ctx, input: string) => `after ${input}`)
      const first = workflow(
        "first",
        { onCompleted: async ({ id }) => void (await engine.start(next, { id: `${id}-next`, input: id, ifExists: "return" })) },
        async () => 1,
      )
      const engine = await open({ workflows: [first, next] })
      await engine.start(first, { id: "i" })
      await engine.settle()
      expect(await engine.get("i-next").result()).toBe("after i")
    })

    it("onStalled is called each time that the instance stalls, also for too many crashes", async () => {
      const calls: unknown[] = []
      const hooks = { onStalled: ({ error }: HookEvent) => void calls.push((error as { details: { code: string } }).details.code) }
      const foreign = workflow("foreign", hooks, () => new Promise<never>(() => undefined))
      const fatal = workflow("fatal", hooks, (ctx) => ctx.do("die", () => new Promise<never>(() => undefined)))
      const engine = await open({ workflows: [foreign, fatal], maxRecoveries: 1 })
      const handle = await engine.start(foreign, { id: "foreign" })
      await engine.skip("5s")
      await handle.resume()
      await engine.skip("5s")
      expect(calls).toEqual(["FOREIGN_AWAIT", "FOREIGN_AWAIT"])
      await engine.start(fatal, { id: "fatal" })
      await engine.settle()
      await engine.crash()
      await engine.crash()
      await engine.skip("1d")
      expect(calls).toEqual(["FOREIGN_AWAIT", "FOREIGN_AWAIT", "TOO_MANY_CRASHES"])
    })

    it("a delete or a restart does not wait for a hook that is under way", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { onCompleted: () => gate.passed }, async (ctx) => ctx.instance.run)
      const engine = await open({ workflows: [flow] })
      const [deleted, restarted] = [await engine.start(flow, { id: "deleted" }), await engine.start(flow, { id: "restarted" })]
      await engine.settle()
      await deleted.delete()
      await restarted.restart()
      await engine.settle()
      gate.open()
      await engine.settle()
      expect(await restarted.result()).toBe(2)
      await expect(deleted.status()).rejects.toMatchObject({ code: "NOT_FOUND" })
      expect(await (await engine.start(flow, { id: "deleted" })).result()).toBe(1)
    })
  })
}
