import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"

interface Job {
  readonly key: string
}

export function limitControlStories(open: OpenBed): void {
  const running = (limit: number | undefined, gate: Gate) =>
    workflow("flow", limit === undefined ? {} : { concurrency: [limit, { limit: 2, key: (input: Job) => input.key }] }, (ctx: Context, _input: Job) =>
      ctx.do("work", () => gate.passed),
    )

  describe("limits changed at run time", () => {
    it("a higher limit admits instances at once, a lower one lets admitted instances finish; both outlive a crash", async () => {
      let gate = new Gate()
      const flow = workflow("flow", { concurrency: 2 }, (ctx: Context, _input: Job) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [flow] })
      for (let i = 0; i < 10; i++) await engine.start(flow, { input: { key: "" } })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 2, queued: 8 })
      await engine.limits.set(flow, { concurrency: 5 })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 5, queued: 5 })
      await engine.limits.set("flow", { concurrency: 1 })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 5, queued: 5 })
      expect(await engine.limits.get(flow)).toEqual({ concurrency: [{ limit: 1, declared: 2 }] })
      gate.open()
      gate = new Gate()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 5, running: 1, queued: 4 })
      await engine.crash()
      expect(await engine.count({}, "status")).toEqual({ completed: 5, running: 1, queued: 4 })
      await engine.limits.reset(flow)
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 5, running: 2, queued: 3 })
      expect(await engine.limits.get(flow)).toEqual({ concurrency: [{ limit: 2 }] })
    })

    it("0 admits no instance, Infinity admits all", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { concurrency: 2 }, (ctx: Context, _input: Job) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [flow] })
      await engine.limits.set(flow, { concurrency: 0 })
      for (let i = 0; i < 5; i++) await engine.start(flow, { id: `i${i}`, input: { key: "" } })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ queued: 5 })
      expect((await engine.get("i0").why()).because).toEqual([
        'it waits for a slot: the limit of 0 at a time of workflow "flow" lets nobody in; it is the next',
      ])
      await engine.limits.set(flow, { concurrency: Infinity })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 5 })
      expect(await engine.limits.get(flow)).toEqual({ concurrency: [{ limit: Infinity, declared: 2 }] })
    })

    it("several limits are changed in the order of the options, and rates too", async () => {
      const flow = workflow(
        "flow",
        { concurrency: [9, { limit: 1, key: (input) => input.key }], rateLimit: { limit: 1, per: "1h" } },
        async (_ctx: Context, _input: Job) => undefined,
      )
      const engine = await open({ workflows: [flow] })
      await engine.limits.set(flow, { concurrency: [undefined, 4], rateLimit: { limit: 3, per: "1m" } })
      expect(await engine.limits.get("flow")).toEqual({
        concurrency: [{ limit: 9 }, { limit: 4, declared: 1 }],
        rateLimit: { limit: 3, perMs: 60_000, declared: { limit: 1, perMs: 3_600_000 } },
      })
      for (let i = 0; i < 3; i++) await engine.start(flow, { input: { key: "k" } })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 3 })
    })

    it("a deploy changes declared numbers and keeps overrides; a limit that the code no longer declares blocks no instance", async () => {
      const gate = new Gate()
      const engine = await open({ workflows: [running(1, gate)] })
      for (let i = 0; i < 6; i++) await engine.start("flow", { input: { key: `${i}` } })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 1, queued: 5 })
      await engine.crash({ workflows: [running(3, gate)] })
      expect(await engine.count({}, "status")).toEqual({ running: 3, queued: 3 })
      await engine.limits.set("flow", { concurrency: 4 })
      await engine.crash({ workflows: [running(2, gate)] })
      expect(await engine.count({}, "status")).toEqual({ running: 4, queued: 2 })
      await engine.limits.reset("flow")
      await engine.crash({ workflows: [running(undefined, gate)] })
      expect(await engine.count({}, "status")).toEqual({ running: 6 })
    })

    it("a deploy that only writes the limits in another order changes nothing", async () => {
      const gate = new Gate()
      const byKey = { limit: 1, key: (input: Job) => input.key }
      const flow = (concurrency: readonly (number | typeof byKey)[]) =>
        workflow("flow", { concurrency }, (ctx: Context, _input: Job) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [flow([3, byKey])] })
      const start = (id: string) => engine.start("flow", { id, input: { key: id.charAt(0) } })
      for (const id of ["a1", "a2", "b1", "c1", "d1"]) await start(id)
      await engine.settle()
      await engine.limits.set("flow", { concurrency: [4] })
      await engine.settle()
      const statuses = async () => Promise.all(["a1", "a2", "b1", "c1", "d1", "e1"].map((id) => engine.get(id).status()))
      await engine.crash({ workflows: [flow([byKey, 3])] })
      await start("e1")
      await engine.settle()
      expect(await statuses()).toEqual(["running", "queued", "running", "running", "running", "queued"])
      expect(await engine.limits.get("flow")).toEqual({ concurrency: [{ limit: 4, declared: 3 }, { limit: 1 }] })
      expect((await engine.get("a2").why()).because[0]).toContain('the limit of 1 at a time of workflow "flow", key "a" is taken by "a1"')
      gate.open()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 6 })
    })

    it("limits with names keep their numbers, their slots and what was set, wherever they stand", async () => {
      const gate = new Gate()
      const user = { name: "user", limit: 1, key: (input: Job) => input.key }
      const zone = { name: "zone", limit: 2, key: (input: Job) => `${input.key.length}` }
      const flow = (concurrency: readonly (number | typeof user)[]) =>
        workflow("flow", { concurrency }, (ctx: Context, _input: Job) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [flow([user, zone])] })
      for (const key of ["a", "a", "b", "c"]) await engine.start("flow", { input: { key } })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 2, queued: 2 })
      await engine.limits.set("flow", { concurrency: { user: 2 } })
      await engine.crash({ workflows: [flow([9, zone, user])] })
      expect(await engine.count({}, "status")).toEqual({ running: 2, queued: 2 })
      expect(await engine.limits.get("flow")).toEqual({
        concurrency: [{ limit: 9 }, { name: "user", limit: 2, declared: 1 }, { name: "zone", limit: 2 }],
      })
      await engine.limits.set("flow", { concurrency: { zone: 3 } })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 3, queued: 1 })
      await expect(engine.limits.set("flow", { concurrency: { nobody: 1 } })).rejects.toMatchObject({ code: "UNKNOWN_LIMIT" })
      gate.open()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 4 })
    })
  })
}
