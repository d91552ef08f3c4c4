import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function stepStories(open: OpenBed): void {
  describe("steps", () => {
    it("the same name twice makes two steps, numbered in call order", async () => {
      const flow = workflow("flow", async (ctx) => {
        const results: number[] = []
        for (let i = 1; i <= 3; i++) results.push(await ctx.do("charge", () => i * 10))
        return results
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      expect(await handle.result()).toEqual([10, 20, 30])
      expect(await stepsSeen(handle)).toEqual(["charge completed", "charge#2 completed", "charge#3 completed"])
      expect((await handle.steps()).map(({ name }) => name)).toEqual(["charge", "charge", "charge"])
    })

    it('the same name twice is refused where the workflow says duplicateSteps: "error"', async () => {
      const calls: string[] = []
      const flow = workflow("flow", { duplicateSteps: "error" }, async (ctx) => {
        await ctx.do("charge", () => void calls.push("first"))
        await ctx.do("charge", () => void calls.push("second"))
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await expect(handle.result()).rejects.toMatchObject({ code: "DUPLICATE_STEP", details: { step: "charge" } })
      expect(calls).toEqual(["first"])
    })

    it("names with slashes, hashes and percent signs are names like any other", async () => {
      const names = ["a/b", "a#2", "100%", "a", "a", "  ", "ünïcödé ✓"]
      const flow = workflow("flow", async (ctx) => {
        const results: string[] = []
        for (const name of names) results.push(await ctx.do(name, () => name))
        await ctx.waitForEvent("go")
        return results
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual(names)
      expect((await handle.steps()).map(({ name }) => name)).toEqual([...names, "go"])
      expect(new Set((await handle.steps()).map(({ id }) => id)).size).toBe(names.length + 1)
    })

    it("a recorded result is never computed again, neither after a crash nor after eviction", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const a = await ctx.do("a", () => calls.push("a"))
        await ctx.waitForEvent("one")
        const b = await ctx.do("b", () => calls.push("b"))
        await ctx.waitForEvent("two")
        return [a, b, await ctx.do("c", () => calls.push("c"))]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "one")
      await engine.evict("i")
      await engine.crash()
      await engine.evict("i")
      await engine.sendEvent("i", "two")
      expect(await handle.result()).toEqual([1, 2, 3])
      expect(calls).toEqual(["a", "b", "c"])
    })

    it("an attempt that a crash cut off is made again, and what the dead one comes to is dropped", async () => {
      const gates = [new Gate<string>(), new Gate<string>()]
      const attempts: number[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("work", ({ attempt }) => {
          attempts.push(attempt)
          return gates[attempt - 1]?.passed ?? "too many"
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      expect(attempts).toEqual([1, 2])
      gates[0]?.open("from the grave")
      await engine.settle()
      expect(await handle.status()).toBe("running")
      gates[1]?.open("alive")
      expect(await handle.result()).toBe("alive")
    })

    it("a function may answer at once, with nothing, or throw something that is no error", async () => {
      const flow = workflow("flow", async (ctx) => {
        const nothing = await ctx.do("nothing", () => undefined)
        const thrown = await ctx.do("throws", () => Promise.reject("just text"), { retry: { maxAttempts: 1 } }).catch((error: unknown) => error)
        return [nothing, (thrown as Error).cause, (thrown as Error).message]
      })
      const engine = await open({ workflows: [flow] })
      expect(await (await engine.start(flow)).result()).toEqual([undefined, "just text", 'step "throws" failed after 1 attempt: just text'])
    })

    it("the value that a step gave belongs to whoever receives it", async () => {
      const kept = { list: [1] }
      const flow = workflow("flow", async (ctx) => {
        const mine = await ctx.do("give", () => kept)
        mine.list.push(2)
        await ctx.waitForEvent("go")
        return mine
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      kept.list.push(3)
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual({ list: [1, 2] })
      expect(kept).toEqual({ list: [1, 3] })
    })

    it("attempts still open when the workflow returns are told to stop, and what they come to is dropped", async () => {
      const gate = new Gate<string>()
      let told: AbortSignal | undefined
      const flow = workflow("flow", async (ctx) => {
        void ctx.do("forgotten", ({ signal }) => {
          told = signal
          return gate.passed
        })
        return ctx.do("quick", () => "done")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      expect(await handle.result()).toBe("done")
      expect(told?.aborted).toBe(true)
      gate.open("late")
      await engine.settle()
      await engine.crash()
      expect(await stepsSeen(handle)).toEqual(["forgotten aborted", "quick completed"])
      expect(await handle.status()).toBe("completed")
    })

    it("the workflow's own error is what the result rejects with", async () => {
      class OutOfStock extends Error {
        override readonly name = "OutOfStock"
        readonly sku = "x-1"
      }
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("a", () => 1)
        throw new OutOfStock("nothing left", { cause: new Error("the shelf is empty") })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      const failure = { name: "OutOfStock", message: "nothing left", sku: "x-1", cause: { message: "the shelf is empty" } }
      await expect(handle.result()).rejects.toMatchObject(failure)
      await engine.crash()
      await expect(handle.result()).rejects.toMatchObject(failure)
      expect(await handle.status()).toBe("failed")
    })

    it("a workflow of no steps at all completes", async () => {
      const flow = workflow("flow", async (_ctx, input: number) => input + 1)
      const engine = await open({ workflows: [flow] })
      expect(await (await engine.start(flow, { input: 1 })).result()).toBe(2)
    })

    it("a run has at most so many steps, and the error names the limit", async () => {
      const flow = workflow("flow", async (ctx) => {
        for (let i = 0; i < 10; i++) await ctx.do("again", () => i)
      })
      const engine = await open({ workflows: [flow], limits: { stepsMax: 5 } })
      await expect((await engine.start(flow)).result()).rejects.toMatchObject({
        code: "LIMIT_EXCEEDED",
        message: expect.stringContaining("stepsMax") as string,
      })
    })

    it("a long workflow goes on after a crash in the middle", async () => {
      let calls = 0
      const flow = workflow("flow", async (ctx) => {
        let sum = 0
        for (let i = 0; i < 600; i++) {
          sum += await ctx.do("add", () => (calls++, i))
          if (i === 300) await ctx.waitForEvent("half")
        }
        return sum
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "half")
      expect(await handle.result()).toBe((599 * 600) / 2)
      expect(calls).toBe(600)
    })
  })
}
