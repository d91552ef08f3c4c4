import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { entriesSeen, type OpenBed } from "../scenario-bed.ts"

interface Job {
  readonly key: string
  readonly n: number
}

export function startOnceStories(open: OpenBed): void {
  const job = (key: string, n: number) => ({ input: { key, n } })

  describe("singleton", () => {
    const flow = workflow("flow", { singleton: { key: (input) => input.key } }, (ctx: Context<{ go: number }>, _input: Job) => ctx.waitForEvent("go"))

    it("a second start is refused with the id of the first, until that has ended, over a crash", async () => {
      const engine = await open({ workflows: [flow] })
      await engine.start(flow, { id: "first", ...job("a", 1) })
      for (const step of [() => engine.settle(), () => engine.crash()]) {
        await step()
        await expect(engine.start(flow, { id: "second", ...job("a", 2) })).rejects.toMatchObject({
          code: "SINGLETON_EXISTS",
          details: { instance: "first" },
        })
      }
      expect((await engine.start(flow, { id: "other", ...job("b", 1) })).id).toBe("other")
      expect((await engine.start(flow, { ...job("a", 3), ifExists: "return" })).id).toBe("first")
      expect((await engine.list()).instances).toHaveLength(2)
      await engine.sendEvent("first", "go", 1)
      expect((await engine.start(flow, { id: "second", ...job("a", 2) })).id).toBe("second")
    })

    it("true: one of the whole workflow; from many sides at once there is one", async () => {
      const only = workflow("only", { singleton: true }, (ctx: Context<{ go: number }>) => ctx.waitForEvent("go"))
      const engine = await open({ workflows: [only] })
      const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => engine.start(only)))
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
      const returned = await Promise.all(Array.from({ length: 10 }, () => engine.start(only, { ifExists: "return" })))
      expect(new Set(returned.map(({ id }) => id)).size).toBe(1)
    })

    it("an id that exists is told as such, and a batch tells each item", async () => {
      const engine = await open({ workflows: [flow] })
      await engine.start(flow, { id: "a", ...job("x", 1) })
      const answers = await engine.startBatch([
        { workflow: flow, id: "a", ...job("y", 1) },
        { workflow: flow, id: "b", ...job("x", 1) },
        { workflow: flow, id: "c", ...job("z", 1) },
      ])
      expect(answers.map((answer) => (answer.created ? answer.id : answer.error.code))).toEqual(["ID_EXISTS", "SINGLETON_EXISTS", "c"])
    })

    it("a restart or a fork is refused while another has the key", async () => {
      const engine = await open({ workflows: [flow] })
      const first = await engine.start(flow, { id: "first", ...job("a", 1) })
      await first.terminate()
      await engine.start(flow, { id: "second", ...job("a", 1) })
      await expect(first.restart()).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "second" } })
      await expect(first.fork({ id: "third" })).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "second" } })
      await engine.get("second").terminate()
      expect((await first.restart()).accepted).toBe(true)
      await expect(engine.start(flow, job("a", 1))).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "first" } })
      await expect(engine.sendOrStart(flow, { id: "fourth", event: "go", payload: 1, ...job("a", 1) })).rejects.toMatchObject({ code: "SINGLETON_EXISTS" })
    })
  })

  describe("debounce", () => {
    const flow = workflow("flow", { debounce: { quiet: "10s", max: "25s", key: (input) => input.key } }, async (ctx: Context, input: Job) => [
      input.n,
      ctx.now(),
    ])

    it("a start waits for quiet, and the last input wins", async () => {
      const engine = await open({ workflows: [flow] })
      const begin = engine.now()
      const first = await engine.start(flow, { id: "i", ...job("a", 1) })
      await engine.skip("9s")
      expect((await engine.start(flow, { id: "ignored", ...job("a", 2) })).id).toBe("i")
      expect((await engine.start(flow, job("b", 9))).id).not.toBe("i")
      await engine.skip("9s")
      expect(await first.status()).toBe("queued")
      expect((await first.describe()).input).toEqual({ key: "a", n: 2 })
      expect((await first.why()).next).toEqual({ what: "it starts", at: begin + 19_000 })
      await engine.skip("1s")
      expect(await first.result()).toEqual([2, begin + 19_000])
    })

    it("but not longer than its maximum, and once it has begun the next start makes a new one", async () => {
      const engine = await open({ workflows: [flow] })
      const begin = engine.now()
      const first = await engine.start(flow, { id: "i", ...job("a", 0) })
      for (let n = 1; n <= 4; n++) {
        await engine.skip("6s")
        expect((await engine.start(flow, job("a", n))).id).toBe("i")
      }
      await engine.skip("1s")
      expect(await first.result()).toEqual([4, begin + 25_000])
      const next = await engine.start(flow, { id: "j", ...job("a", 5) })
      expect(next.id).toBe("j")
      await engine.skip("10s")
      expect(await next.result()).toEqual([5, begin + 35_000])
    })

    it("from many sides at once there is one instance, with one of the inputs, over a crash", async () => {
      const engine = await open({ workflows: [flow] })
      const handles = await Promise.all(Array.from({ length: 20 }, (_, n) => engine.start(flow, job("a", n))))
      expect(new Set(handles.map(({ id }) => id)).size).toBe(1)
      await engine.crash()
      const [handle] = await Promise.all([engine.start(flow, job("a", 100)), engine.start(flow, job("a", 100))])
      await engine.skip("10s")
      expect(await handle.result()).toEqual([100, engine.now()])
      expect(await engine.count({}, "status")).toEqual({ completed: 1 })
    })

    it("events that came before are kept, and its history tells all", async () => {
      const listening = workflow("listening", { debounce: { quiet: "10s" } }, async (ctx: Context<{ word: string }>, input: Job) => [
        input.n,
        await ctx.waitForEvent("word"),
      ])
      const engine = await open({ workflows: [listening] })
      const handle = await engine.start(listening, { id: "i", ...job("", 1) })
      await engine.sendEvent("i", "word", "early")
      await engine.start(listening, job("", 2))
      await engine.sendEvent("i", "word", "later")
      await engine.start(listening, job("", 3))
      await engine.crash()
      await engine.skip("10s")
      expect(await handle.result()).toEqual([3, "early"])
      expect(await entriesSeen(handle)).toEqual([
        "run.started",
        "event.received",
        "run.started",
        "event.received",
        "run.started",
        "wait.started",
        "wait.completed",
        "run.completed",
      ])
    })

    it("one that has waited for quiet and now waits for a slot can still be replaced, and waits for quiet again", async () => {
      const gate = new Gate()
      const both = workflow("both", { debounce: { quiet: "10s", key: (input) => input.key }, concurrency: 1 }, async (ctx: Context, input: Job) => {
        if (input.key === "busy") await ctx.do("work", () => gate.passed)
        return input.n
      })
      const engine = await open({ workflows: [both] })
      await engine.start(both, job("busy", 0))
      await engine.skip("10s")
      const handle = await engine.start(both, job("a", 1))
      await engine.skip("10s")
      expect((await handle.why()).because[0]).toContain("it waits for a slot")
      expect((await engine.start(both, job("a", 2))).id).toBe(handle.id)
      gate.open()
      await engine.skip("9s")
      expect(await handle.status()).toBe("queued")
      await engine.skip("1s")
      expect(await handle.result()).toBe(2)
    })

    it("one that is cancelled, terminated or paused before it began makes way for the next", async () => {
      const engine = await open({ workflows: [flow] })
      for (const [n, end] of (["cancel", "terminate", "pause"] as const).entries()) {
        const handle = await engine.start(flow, job("a", n))
        await handle[end]()
        await engine.settle()
        const next = await engine.start(flow, job("a", 10 + n))
        expect(next.id).not.toBe(handle.id)
        await engine.skip("10s")
        expect(await next.result()).toEqual([10 + n, engine.now()])
      }
    })
  })
}
