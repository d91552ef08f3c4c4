import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { macrotask } from "../../../hosts/simulated/simulated-host.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"

interface Job {
  readonly key: string
}

export function paceStories(open: OpenBed): void {
  const job = (key: string, id: string) => ({ id, input: { key } })

  describe("rate limits", () => {
    it("admit a burst up to the limit, then spread the rest evenly, with one timer for all of them", async () => {
      const begun: [string, number][] = []
      const flow = workflow("flow", { rateLimit: { limit: 3, per: "30s" } }, async (ctx: Context, input: Job) => {
        await ctx.do("note", () => void begun.push([input.key, engine.now()]))
        await ctx.sleep("nap", "1s")
        await ctx.do("more", () => undefined)
      })
      const engine = await open({ workflows: [flow] })
      const start = engine.now()
      for (const id of ["a", "b", "c", "d", "e"]) await engine.start(flow, job(id, id))
      await engine.settle()
      expect(await engine.get("d").why()).toEqual({
        status: "queued",
        because: [expect.stringContaining('it waits to be started: workflow "flow" starts at most 3 in 30s; it is the next, at ') as string],
        next: { what: "it starts", at: start + 10_000 },
      })
      expect((await engine.get("e").why()).because[0]).toContain("1 before it")
      await engine.crash()
      await engine.skip("1m")
      // The instances of the burst are loaded concurrently.
      expect([...begun.slice(0, 3).toSorted(([a], [b]) => (a < b ? -1 : 1)), ...begun.slice(3)]).toEqual([
        ["a", start],
        ["b", start],
        ["c", start],
        ["d", start + 10_000],
        ["e", start + 20_000],
      ])
      expect(await engine.count({}, "status")).toEqual({ completed: 5 })
    })

    it("count each key on its own, and hold up no other key of a shared limit", async () => {
      const flow = workflow("flow", { concurrency: 1, rateLimit: { limit: 1, per: "1h", key: (input) => input.key } }, async (ctx: Context, _input: Job) =>
        ctx.do("work", () => undefined),
      )
      const engine = await open({ workflows: [flow] })
      for (const [key, id] of [
        ["a", "a1"],
        ["a", "a2"],
        ["a", "a3"],
        ["b", "b1"],
      ] as const)
        await engine.start(flow, job(key, id))
      await engine.settle()
      const done = async () => (await engine.list({ status: "completed" })).instances.map(({ id }) => id).toSorted()
      expect(await done()).toEqual(["a1", "b1"])
      await engine.skip("1h")
      expect(await done()).toEqual(["a1", "a2", "b1"])
    })
  })

  describe("priority", () => {
    it("goes first among those that wait for a slot: the workflow's, or that of the start", async () => {
      const order: string[] = []
      const gate = new Gate()
      const flow = workflow("flow", { concurrency: 1, priority: (input) => (input.key === "vip" ? 10 : 0) }, (ctx: Context, _input: Job) =>
        ctx.do("work", async () => {
          order.push(ctx.instance.id)
          await gate.passed
        }),
      )
      const engine = await open({ workflows: [flow] })
      await engine.start(flow, job("", "first"))
      await engine.settle()
      await engine.start(flow, job("", "plain"))
      await engine.start(flow, { ...job("", "low"), priority: -1 })
      await engine.start(flow, job("vip", "vip"))
      await engine.start(flow, { ...job("vip", "other"), priority: 5 })
      await engine.start(flow, job("", "last"))
      await engine.settle()
      gate.open()
      await engine.settle()
      expect(order).toEqual(["first", "vip", "other", "plain", "last", "low"])
    })

    it("goes first where a worker has room for few", async () => {
      const order: string[] = []
      const flow = workflow("flow", (ctx: Context, _input: Job) => ctx.do("work", () => void order.push(ctx.instance.id)))
      const engine = await open({ workflows: [], maxResidentInstances: 1 })
      for (const [id, priority] of [
        ["a", 0],
        ["b", -1],
        ["c", 3],
        ["d", 2],
      ] as const)
        await engine.start("flow", { version: "1", allowUnknown: true, ...job("", id), priority })
      await engine.crash({ workflows: [flow] })
      expect(order).toEqual(["c", "d", "a", "b"])
    })
  })

  describe("a worker's places for steps", () => {
    it("no more attempts run at once than it has; those of a higher priority go first, then the order of asking", async () => {
      const order: string[] = []
      let gate = new Gate()
      const flow = workflow("flow", (ctx: Context, _input: Job) =>
        ctx.do("work", async () => {
          order.push(ctx.instance.id)
          await gate.passed
        }),
      )
      const engine = await open({ workflows: [flow], maxConcurrentSteps: 2 })
      for (const [id, priority] of [
        ["a", 0],
        ["b", 0],
        ["c", 0],
        ["d", 1],
        ["e", 0],
      ] as const)
        await engine.start(flow, { ...job("", id), priority })
      await engine.settle()
      expect(order).toHaveLength(2)
      gate.open()
      gate = new Gate()
      await engine.settle()
      expect(order).toHaveLength(4)
      gate.open()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 5 })
      expect(order).toEqual(["a", "b", "d", "c", "e"])
    })

    it("a step that waits for steps inside it has no place: one place is enough for any depth", async () => {
      const log: string[] = []
      let inside = 0
      let most = 0
      const work = async (name: string) => {
        most = Math.max(most, ++inside)
        await Promise.resolve()
        inside--
        log.push(name)
      }
      const flow = workflow("flow", async (ctx: Context, _input: Job) => {
        await ctx.do("outer", async ({ step }) => {
          await work("begin")
          await Promise.all([
            step.do("left", () => work("left")),
            step.do("right", async (inner) => {
              await inner.step.do("deep", () => work("deep"))
              await work("right")
            }),
          ])
          await step.sleep("nap", "1m")
          await work("end")
        })
      })
      const engine = await open({ workflows: [flow], maxConcurrentSteps: 1 })
      for (const id of ["a", "b", "c"]) await engine.start(flow, job("", id))
      await engine.skip("1m")
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 3 })
      expect(log).toHaveLength(15)
      expect(most).toBe(1)
    })

    it("an attempt that times out, is cancelled, or whose instance is terminated frees its slot", async () => {
      const endless = () => new Promise<never>(() => undefined)
      const flow = workflow("flow", async (ctx: Context, input: Job) => {
        if (input.key === "hangs") await ctx.do("hang", endless, { timeout: "1m", retry: { maxAttempts: 1 } })
        else await ctx.do("work", () => undefined)
      })
      const engine = await open({ workflows: [flow], maxConcurrentSteps: 1 })
      for (const end of ["times out", "is terminated", "is terminated in line"] as const) {
        const hanging = await engine.start(flow, job("hangs", `hanging ${end}`.replaceAll(" ", "-")))
        await engine.settle()
        const next = await engine.start(flow, job("", `next ${end}`.replaceAll(" ", "-")))
        await engine.settle()
        expect(await next.status()).toBe("running")
        if (end === "times out") await engine.skip("1m")
        if (end === "is terminated in line") await next.terminate()
        if (end !== "times out") await hanging.terminate()
        await engine.settle()
        expect(await next.status()).toBe(end === "is terminated in line" ? "terminated" : "completed")
      }
    })

    it("closing does not wait for queued attempts: they begin in the next process", async () => {
      const gate = new Gate()
      let begun = 0
      const flow = workflow("flow", (ctx: Context, _input: Job) =>
        ctx.do("work", async () => {
          begun++
          await gate.passed
        }),
      )
      const engine = await open({ workflows: [flow], maxConcurrentSteps: 1, drain: "1h" })
      for (const id of ["a", "b", "c"]) await engine.start(flow, job("", id))
      await engine.settle()
      const before = engine.now()
      const closing = engine.close()
      for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => macrotask(resolve))
      gate.open()
      await closing
      expect([begun, engine.now() - before < 1_000]).toEqual([1, true])
      await engine.open()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 3 })
    })
  })
}
