import { describe, expect, it } from "vitest"
import type { Change } from "../../../core/journal/change.ts"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Follower } from "../follower.ts"
import type { OpenBed } from "../scenario-bed.ts"

const double = workflow("double", async (ctx, input: number) => ctx.do("work", () => input * 2))
const patient = workflow("patient", async (ctx: Context) => ctx.waitForEvent("word", { timeout: "1h", default: "none" }))

/** Reads the changes that exist already. */
async function take(changes: AsyncIterable<Change>, count: number): Promise<Change[]> {
  const taken: Change[] = []
  if (count === 0) return taken
  for await (const change of changes) if (taken.push(change) === count) break
  return taken
}

export function changeStories(open: OpenBed): void {
  describe("what changes tell", () => {
    it("is the life of an instance, each thing once and in its order", async () => {
      let calls = 0
      const flow = workflow("order", { version: "3" }, async (ctx: Context, input: string) => {
        await ctx.do("reserve", () => input)
        await ctx.do("charge", () => (++calls < 2 ? Promise.reject(new RangeError("no funds")) : "paid"), { retry: { initialInterval: "1m" } })
        await ctx.sleep("cool-off", "1h")
        await ctx.waitForEvent("payment")
        return "done"
      })
      const engine = await open({ workflows: [flow] })
      const follower = new Follower(engine.changes())
      const at = engine.now()
      const handle = await engine.start(flow, { id: "i", input: "secret" })
      await engine.skip("2h")
      await handle.sendEvent("payment", { amount: "secret" }, { eventId: "e1" })
      await engine.settle()
      await engine.settle()
      const { incarnation } = await handle.describe()
      expect(follower.seen.map(({ type, data }) => [type, data])).toEqual([
        ["workflow.started", {}],
        ["step.started", { step: "reserve", attempt: 1 }],
        ["step.completed", { step: "reserve", attempt: 1, durationMs: 0 }],
        ["step.started", { step: "charge", attempt: 1 }],
        [
          "retry.scheduled",
          { step: "charge", attempt: 1, durationMs: 0, error: { name: "RangeError", message: "no funds" }, retryAt: expect.any(Number) as number },
        ],
        ["step.started", { step: "charge", attempt: 2 }],
        ["step.completed", { step: "charge", attempt: 2, durationMs: 0 }],
        ["sleep.started", { step: "cool-off", wakeAt: expect.any(Number) as number }],
        ["sleep.completed", { step: "cool-off" }],
        ["event.received", { event: "payment", eventId: "e1" }],
        ["event.consumed", { step: "payment" }],
        ["workflow.completed", { status: "completed" }],
      ])
      expect(follower.seen[0]).toEqual({
        id: `${incarnation}:1`,
        cursor: expect.any(String) as string,
        type: "workflow.started",
        at,
        instance: "i",
        workflow: "order",
        version: "3",
        taskQueue: "default",
        run: 1,
        position: 1,
        data: {},
      })
      expect(follower.seen.at(-1)?.at).toBe(engine.now())
      expect(new Set(follower.seen.map(({ id }) => id)).size).toBe(follower.seen.length)
      expect(JSON.stringify(follower.seen)).not.toContain("secret")
    })

    it("has a name for each way of going on and of ending", async () => {
      const failing = workflow("failing", async (ctx) => ctx.do("work", () => Promise.reject(new TypeError("broken")), { retry: { maxAttempts: 2 } }))
      const counting = workflow("counting", async (ctx: Context, left: number): Promise<string> => (left > 0 ? ctx.continueAsNew(left - 1) : "done"))
      const parent = workflow("parent", async (ctx) => ctx.runChild(double, { id: "child", input: 1 }))
      const engine = await open({ workflows: [failing, counting, parent, double, patient] })
      const follower = new Follower(engine.changes())
      await engine.start(failing, { id: "failing" })
      await engine.start(failing, { id: "once" }).then((handle) => handle.pause("a look"))
      await engine.start(counting, { id: "counting", input: 1 })
      await engine.start(parent, { id: "parent" })
      await engine.start(double, { id: "delayed", input: 1, delay: "1m" })
      for (const id of ["timed", "cancelled", "terminated"]) await engine.start(patient, { id })
      await engine.skip("1m")
      await engine.get("once").resume()
      await engine.get("cancelled").cancel("no need")
      await engine.get("terminated").terminate("broken")
      await engine.skip("1h")
      await engine.get("terminated").restart()
      await engine.settle()
      await engine.settle()
      expect(follower.types("failing")).toEqual(["workflow.started", "step.started", "retry.scheduled", "step.started", "retry.exhausted", "workflow.failed"])
      expect(follower.seen.find(({ type }) => type === "workflow.failed")?.data).toEqual({
        status: "failed",
        error: { name: "StepFailedError", message: expect.stringContaining("broken") as string, code: "STEP_FAILED" },
      })
      expect(follower.types("once")).toEqual(expect.arrayContaining(["workflow.paused", "workflow.resumed"]))
      expect(follower.seen.find(({ type }) => type === "workflow.paused")?.data).toEqual({ status: "paused", reason: "a look" })
      expect(follower.types("counting")).toEqual(["workflow.started", "workflow.started", "workflow.completed"])
      expect(follower.seen.filter(({ instance }) => instance === "counting").map(({ run }) => run)).toEqual([1, 2, 2])
      expect(follower.types("parent")).toEqual(["workflow.started", "child.started", "step.completed", "child.completed", "workflow.completed"])
      expect(follower.seen.find(({ type }) => type === "child.completed")?.data).toEqual({ step: "child", child: "child", status: "completed" })
      expect(follower.types("delayed")[0]).toBe("workflow.queued")
      expect(follower.types("timed")).toEqual(["workflow.started", "event.timed_out", "workflow.completed"])
      expect(follower.types("cancelled")).toEqual(["workflow.started", "workflow.cancelled"])
      expect(follower.seen.find(({ type }) => type === "workflow.cancelled")?.data).toEqual({ status: "cancelled", reason: "no need" })
      expect(follower.types("terminated")).toEqual(["workflow.started", "workflow.terminated", "workflow.restarted"])
    })

    it("report a stalled instance with the reason", async () => {
      const one = workflow("flow", async (ctx) => [await ctx.do("a", () => 1), await ctx.waitForEvent("word")])
      const other = workflow("flow", async (ctx) => [await ctx.do("b", () => 1), await ctx.waitForEvent("word")])
      const engine = await open({ workflows: [one] })
      await engine.start(one, { id: "i" })
      await engine.settle()
      await engine.crash({ workflows: [other] })
      const follower = new Follower(engine.changes())
      await engine.sendEvent("i", "word")
      await engine.skip("1m")
      expect(follower.seen.at(-1)).toMatchObject({ type: "workflow.stalled", data: { status: "stalled", error: { code: "STALLED" } } })
    })
  })

  describe("cursors", () => {
    it("of every change lead to all that follow it, and to nothing else", async () => {
      const engine = await open({ workflows: [double, patient] })
      for (const id of ["a", "b", "c"]) {
        await engine.start(double, { id: `d-${id}`, input: 1 })
        await engine.start(patient, { id: `p-${id}` })
        await engine.settle()
        await engine.sendEvent(`p-${id}`, "word")
      }
      const follower = new Follower(engine.changes())
      await engine.settle()
      await engine.settle()
      const all = follower.seen.map(({ id }) => id)
      expect(all.length).toBeGreaterThan(20)
      for (const [at, { cursor }] of follower.seen.entries()) {
        const rest = await take(engine.changes(cursor), all.length - at - 1)
        expect(rest.map(({ id }) => id)).toEqual(all.slice(at + 1))
        const own = follower.seen.slice(at + 1).filter(({ instance }) => instance === "p-b")
        expect((await take(engine.get("p-b").changes(cursor), own.length)).map(({ id }) => id)).toEqual(own.map(({ id }) => id))
      }
      expect(await follower.iterator.cursor()).toBe(follower.seen.at(-1)?.cursor)
    })

    it('"latest" is from now on, and says where that is', async () => {
      const engine = await open({ workflows: [double] })
      await engine.start(double, { id: "before", input: 1 })
      await engine.settle()
      const follower = new Follower(engine.changes("latest"))
      const cursor = await follower.iterator.cursor()
      await engine.start(double, { id: "after", input: 1 })
      await engine.settle()
      await engine.settle()
      expect(follower.types()).toEqual(["after workflow.started", "after step.started", "after step.completed", "after workflow.completed"])
      expect((await take(engine.changes(cursor), 4)).map(({ id }) => id)).toEqual(follower.seen.map(({ id }) => id))
    })

    it("outlive a crash of the engine, also those in the midst of a turn", async () => {
      const engine = await open({ workflows: [double] })
      await engine.start(double, { id: "a", input: 1 })
      await engine.settle()
      const [first] = await take(engine.changes(), 1)
      await engine.crash()
      expect((await take(engine.changes(first?.cursor), 3)).map(({ type }) => type)).toEqual(["step.started", "step.completed", "workflow.completed"])
    })

    it("that are no cursors, or are of another store, are refused", async () => {
      const other = await open({ workflows: [double], seed: "another" })
      await other.start(double, { id: "a", input: 1 })
      await other.settle()
      const foreign = (await take(other.changes(), 4)).at(-1)?.cursor ?? ""
      const engine = await open({ workflows: [double] })
      await engine.start(double, { id: "b", input: 1 })
      await engine.settle()
      for (const cursor of [foreign, "", "nonsense", "~", "a~b~c", 7 as unknown as string])
        await expect(take(engine.changes(cursor), 1)).rejects.toMatchObject({ code: "BAD_OPTION" })
      await expect(take(engine.get("b").changes(foreign), 1)).rejects.toMatchObject({ code: "BAD_OPTION" })
      await expect(take(engine.get("nobody").changes(), 1)).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("of a deleted instance still lead on", async () => {
      const engine = await open({ workflows: [double] })
      const handle = await engine.start(double, { id: "a", input: 1 })
      await handle.result()
      await engine.settle()
      const seen = await take(engine.changes(), 4)
      await handle.delete()
      await engine.start(double, { id: "b", input: 1 })
      await engine.settle()
      for (const { cursor } of seen) expect((await take(engine.changes(cursor), 4)).map(({ instance }) => instance)).toEqual(["b", "b", "b", "b"])
    })
  })
}
