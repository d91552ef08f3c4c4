import { describe, expect, it } from "vitest"
import * as z from "zod"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function forkStories(open: OpenBed): void {
  describe("fork", () => {
    let calls: string[] = []
    const note = (name: string) => () => (calls.push(name), name)
    const flow = workflow("flow", async (ctx: Context, input: { readonly who: string }) => {
      const a = await ctx.do("a", note("a"))
      const first = (await ctx.waitForEvent("word")) as string
      await ctx.sleep("nap", "1h")
      const b = await ctx.do("b", note("b"))
      return [input.who, a, first, b, await ctx.waitForEvent("word")]
    })

    it("is a new instance with what was recorded before the step; nothing of it is computed again", async () => {
      calls = []
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: { who: "Ada" }, tags: ["red"] })
      await engine.sendEvent("i", "word", "one")
      await engine.skip("2h")
      await engine.sendEvent("i", "word", "two")
      const original = await handle.result()
      const before = await entriesSeen(handle)
      const fork = await handle.fork({ id: "fork", from: "b" })
      await engine.settle()
      expect(calls).toEqual(["a", "b", "b"])
      expect(await stepsSeen(fork)).toEqual(["a completed", "word completed", "nap completed", "b completed", "word#2 waiting"])
      await engine.crash()
      await engine.sendEvent("fork", "word", "another")
      expect(await fork.result()).toEqual(["Ada", "a", "one", "b", "another"])
      expect(await fork.describe()).toMatchObject({ id: "fork", run: 1, version: "1", tags: ["red"], input: { who: "Ada" } })
      expect((await fork.describe()).incarnation).not.toBe((await handle.describe()).incarnation)
      expect(await handle.result()).toEqual(original)
      expect(await entriesSeen(handle)).toEqual(before)
      const positions = (await fork.history()).entries.map(({ position }) => position)
      expect(positions).toEqual(positions.map((_, index) => index + 1))
    })

    it("with another input, and without a step with nothing but the input", async () => {
      calls = []
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: { who: "Ada" } })
      await engine.sendEvent("i", "word", "one")
      await engine.skip("2h")
      const grace = await handle.fork({ id: "grace", from: "b", input: { who: "Grace" } })
      await engine.sendEvent("grace", "word", "two")
      expect(await grace.result()).toEqual(["Grace", "a", "one", "b", "two"])
      const anew = await handle.fork({ id: "anew" })
      await engine.settle()
      expect(await stepsSeen(anew)).toEqual(["a completed", "word waiting"])
      expect(calls).toEqual(["a", "b", "b", "a"])
    })

    it("checks the input by the schema of the workflow", async () => {
      const strict = workflow("strict", { input: z.object({ n: z.number() }) }, async (ctx, { n }) => ctx.do("a", () => n))
      const engine = await open({ workflows: [strict] })
      const handle = await engine.start(strict, { id: "i", input: { n: 1 } })
      await handle.result()
      await expect(handle.fork({ id: "j", from: "a", input: { n: "two" } })).rejects.toMatchObject({ code: "INVALID_INPUT" })
      await expect(handle.fork({ id: "j", input: () => 1 })).rejects.toMatchObject({ code: "INVALID_INPUT" })
      await expect(engine.get("j").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("sees the same times and random numbers in what it kept; what comes later is its own", async () => {
      const drawing = workflow("drawing", async (ctx: Context) => {
        const drawn = [ctx.now(), ctx.startTime.getTime(), ctx.random(), ctx.uuid()]
        // The fork takes the same branch as the original.
        await ctx.do(`started at ${ctx.now()}`, () => 1)
        await ctx.sleep("nap", "1h")
        drawn.push(ctx.now(), ctx.random())
        const key = await ctx.do("key", ({ idempotencyKey }) => idempotencyKey)
        return { drawn, key, at: ctx.now() }
      })
      const engine = await open({ workflows: [drawing] })
      const handle = await engine.start(drawing, { id: "i", timeout: "3h" })
      await engine.skip("1h")
      const original = await handle.result()
      await engine.skip("1d")
      const fork = await handle.fork({ id: "fork", from: "key" })
      await engine.settle()
      const forked = await fork.result()
      expect(forked.drawn).toEqual(original.drawn)
      expect(forked.key).not.toBe(original.key)
      expect(forked.at - original.at).toBe(24 * 3_600_000)
      await handle.restart({ from: "key" })
      await engine.settle()
      expect((await handle.result()).drawn).toEqual(original.drawn)
      const again = await fork.fork({ id: "again", from: "key" })
      await engine.settle()
      expect((await again.result()).drawn).toEqual(original.drawn)
    })

    it("has a timeout of its own, which counts from the fork", async () => {
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: { who: "Ada" }, timeout: "3h" })
      await engine.sendEvent("i", "word", "one")
      await engine.skip("2h")
      const fork = await handle.fork({ id: "fork", from: "b" })
      const second = await fork.fork({ id: "second", from: "nap" })
      await engine.skip("179m")
      expect([await handle.status(), await fork.status(), await second.status()]).toEqual(["failed", "waiting", "waiting"])
      await engine.skip("1m")
      expect([await fork.status(), await second.status()]).toEqual(["failed", "failed"])
    })

    it("of a running, failed, cancelled and terminated instance", async () => {
      const mode = { fails: true }
      const other = workflow("other", async (ctx: Context) => {
        await ctx.do("a", note("a"))
        await ctx.do("b", () => (mode.fails ? Promise.reject(new Error("broken")) : "b"), { retry: { maxAttempts: 1 } })
        await ctx.waitForEvent("word")
        return "done"
      })
      const engine = await open({ workflows: [other] })
      const failed = await engine.start(other, { id: "failed" })
      await engine.settle()
      expect(await failed.status()).toBe("failed")
      mode.fails = false
      const running = await failed.fork({ id: "running", from: "b" })
      await engine.settle()
      expect(await running.status()).toBe("waiting")
      const cancelled = await running.fork({ id: "cancelled", from: "word" })
      await engine.settle()
      await cancelled.cancel()
      await engine.settle()
      const terminated = await cancelled.fork({ id: "terminated", from: "word" })
      await engine.settle()
      await terminated.terminate({ rollback: true })
      await engine.settle()
      expect([await cancelled.status(), await terminated.status()]).toEqual(["cancelled", "terminated"])
      const last = await terminated.fork({ id: "last", from: "word" })
      await engine.sendEvent("last", "word")
      expect(await last.result()).toBe("done")
    })

    it("undoes what it kept if it fails", async () => {
      const undone: string[] = []
      const failing = workflow("failing", async (ctx: Context, input: boolean) => {
        await ctx.do("a", () => `a of ${ctx.instance.id}`, { rollback: (result) => void undone.push(result) })
        await ctx.do("b", () => "b")
        if (input) throw new Error("broken")
      })
      const engine = await open({ workflows: [failing] })
      const handle = await engine.start(failing, { id: "i", input: false })
      await handle.result()
      const fork = await handle.fork({ id: "fork", from: "b", input: true })
      await engine.settle()
      await expect(fork.result()).rejects.toThrow("broken")
      expect(undone).toEqual(["a of i"])
    })

    it("of a run that a restart or continueAsNew began", async () => {
      const looping = workflow("looping", async (ctx: Context, round: number): Promise<unknown> => {
        await ctx.do("work", () => round)
        if (round < 3) return ctx.continueAsNew(round + 1)
        const word = await ctx.waitForEvent("word")
        return [round, word, await ctx.do("last", () => ctx.instance.run)]
      })
      const engine = await open({ workflows: [looping] })
      const handle = await engine.start(looping, { id: "i", input: 1 })
      await handle.sendEvent("word", "kept since the first run")
      await engine.settle()
      expect(await handle.result()).toEqual([3, "kept since the first run", 3])
      await handle.restart({ from: "last" })
      await engine.settle()
      const fork = await handle.fork({ id: "fork", from: "last" })
      await engine.settle()
      expect(await fork.result()).toEqual([3, "kept since the first run", 1])
    })

    it("from a step that the run does not have, or to an id that is taken or none, is refused", async () => {
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: { who: "Ada" } })
      await engine.settle()
      await expect(handle.fork({ id: "fork", from: "zzz" })).rejects.toMatchObject({ code: "UNKNOWN_STEP", details: { step: "zzz" } })
      await expect(handle.fork({ id: "i", from: "a" })).rejects.toMatchObject({ code: "ID_EXISTS" })
      await expect(handle.fork({ id: "not an id", from: "a" })).rejects.toMatchObject({ code: "BAD_ID" })
      await expect(engine.get("nobody").fork({ id: "fork" })).rejects.toMatchObject({ code: "NOT_FOUND" })
      expect(await engine.count({}, "status")).toEqual({ waiting: 1 })
    })

    it("while a child is under way is refused: it belongs to the original; how it ended is kept", async () => {
      const child = workflow("child", (ctx: Context) => ctx.waitForEvent("word"))
      const parent = workflow("parent", async (ctx: Context) => {
        const started = await ctx.startChild(child, { id: "child" })
        await ctx.do("a", () => 1)
        const word = await started.result()
        return [word, await ctx.do("b", () => 1)]
      })
      const engine = await open({ workflows: [parent, child] })
      const handle = await engine.start(parent, { id: "i" })
      await engine.settle()
      const refusal = { code: "BAD_OPTION", message: expect.stringContaining('"child"') as string }
      await expect(handle.fork({ id: "fork", from: "a" })).rejects.toMatchObject(refusal)
      await engine.sendEvent("child", "word", "hello")
      await handle.result()
      for (const from of ["a", "b"]) {
        const fork = await handle.fork({ id: `from-${from}`, from })
        await engine.settle()
        expect(await fork.result()).toEqual(["hello", 1])
      }
    })
  })
}
