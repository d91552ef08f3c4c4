import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { TestEngine } from "../../test-engine.ts"
import { Gate } from "../gate.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

const patient = workflow("patient", async (ctx: Context) => ctx.waitForEvent("word"))
const ends = ["cancel", "terminate", "abandon"] as const

/** Starts one child for each `onParentEnd`, named after it, and then does what its input says. */
const parent = workflow("parent", async (ctx: Context, input: "return" | "throw" | "continue" | "wait") => {
  const prefix = `${ctx.instance.id}-${ctx.instance.run}`
  for (const onParentEnd of ends) await ctx.startChild(patient, { id: `${prefix}-${onParentEnd}`, onParentEnd })
  await ctx.waitForEvent("go")
  if (input === "throw") throw new Error("as told")
  if (input === "continue") await ctx.continueAsNew("wait")
  if (input === "wait") await ctx.waitForEvent("never")
})

async function fates(engine: TestEngine, prefix: string): Promise<readonly string[]> {
  return Promise.all(ends.map((end) => engine.get(`${prefix}-${end}`).status()))
}

export function childBondStories(open: OpenBed): void {
  describe("a parent's end", () => {
    for (const [input, status] of [
      ["return", "completed"],
      ["throw", "failed"],
      ["continue", "waiting"],
    ] as const) {
      it(`that is ${input === "continue" ? "a new run" : status} has the effect on its children that was asked for`, async () => {
        const engine = await open({ workflows: [parent, patient] })
        const handle = await engine.start(parent, { id: "p", input })
        await engine.settle()
        expect(await fates(engine, "p-1")).toEqual(["waiting", "waiting", "waiting"])
        await engine.sendEvent("p", "go")
        expect(await handle.status()).toBe(status)
        expect(await fates(engine, "p-1")).toEqual(["cancelled", "terminated", "waiting"])
        await expect(engine.get("p-1-cancel").result()).rejects.toMatchObject({ details: { reason: "its parent is over" } })
        await engine.sendEvent("p-1-abandon", "word", "alone")
        expect(await engine.get("p-1-abandon").result()).toBe("alone")
      })
    }

    it("that is a new run does nothing to the children of that run", async () => {
      const engine = await open({ workflows: [parent, patient] })
      await engine.start(parent, { id: "p", input: "continue" })
      await engine.sendEvent("p", "go")
      expect(await fates(engine, "p-2")).toEqual(["waiting", "waiting", "waiting"])
    })

    it("by cancel, terminate and its own timeout has it too", async () => {
      const engine = await open({ workflows: [parent, patient] })
      for (const [id, end] of [
        ["cancelled", (engine: TestEngine) => engine.get("cancelled").cancel()],
        ["terminated", (engine: TestEngine) => engine.get("terminated").terminate()],
        ["late", (engine: TestEngine) => engine.skip("2h")],
        ["undone", (engine: TestEngine) => engine.get("undone").terminate({ rollback: true })],
      ] as const) {
        await engine.start(parent, { id, input: "wait", timeout: "1h" })
        await engine.settle()
        await end(engine)
        await engine.settle()
        expect(await fates(engine, `${id}-1`)).toEqual(["cancelled", "terminated", "waiting"])
      }
    })

    it("reaches a child that is paused as a cancel and a terminate do", async () => {
      const engine = await open({ workflows: [parent, patient] })
      await engine.start(parent, { id: "p", input: "return" })
      await engine.settle()
      for (const end of ends) await engine.get(`p-1-${end}`).pause()
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("p", "go")
      expect(await fates(engine, "p-1")).toEqual(["cancelled", "terminated", "paused"])
    })

    it("ends a child that is stalled, whose code cannot be asked", async () => {
      const stuck = workflow("stuck", async () => new Promise<never>(() => undefined))
      const keeper = workflow("keeper", async (ctx) => {
        for (const onParentEnd of ends) await ctx.startChild(stuck, { id: `p-1-${onParentEnd}`, onParentEnd })
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [keeper, stuck] })
      await engine.start(keeper, { id: "p" })
      await engine.skip("10s")
      expect(await fates(engine, "p-1")).toEqual(["stalled", "stalled", "stalled"])
      expect(await engine.get("p-1-cancel").cancel()).toMatchObject({ accepted: false })
      await engine.crash()
      await engine.sendEvent("p", "go")
      await engine.settle()
      expect(await fates(engine, "p-1")).toEqual(["cancelled", "terminated", "stalled"])
      expect((await entriesSeen(engine.get("p-1-cancel"))).slice(-2)).toEqual(["cancel.requested", "run.cancelled"])
      await expect(engine.get("p-1-cancel").result()).rejects.toMatchObject({ details: { reason: "its parent is over" } })
    })

    it("ends a child that waits for something foreign when it is told, at the end of the grace", async () => {
      const deaf = workflow("deaf", (ctx: Context) => ctx.waitForEvent("word").catch(() => new Promise<never>(() => undefined)))
      const keeper = workflow("keeper", async (ctx) => {
        await ctx.startChild(deaf, { id: "c" })
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [keeper, deaf] })
      await engine.start(keeper, { id: "p" })
      await engine.sendEvent("p", "go")
      await engine.skip("29s")
      expect(await engine.get("c").describe()).toMatchObject({ status: "running", phase: "cancelling" })
      await engine.skip("1s")
      expect(await engine.get("c").status()).toBe("cancelled")
    })

    it("does nothing to children that are over, and goes down through grandchildren", async () => {
      const middle = workflow("middle", async (ctx) => {
        await ctx.runChild(patient, { id: "quick" })
        await ctx.runChild(patient, { id: "slow" })
      })
      const top = workflow("top", (ctx) => ctx.runChild(middle, { id: "middle" }))
      const engine = await open({ workflows: [top, middle, patient] })
      const handle = await engine.start(top, { id: "top" })
      await engine.settle()
      await engine.sendEvent("quick", "word", 1)
      expect(await engine.get("slow").describe()).toMatchObject({ status: "waiting", parentId: "middle" })
      await handle.cancel("stop it all")
      await engine.settle()
      for (const id of ["top", "middle", "slow"]) expect(await engine.get(id).status()).toBe("cancelled")
      expect(await engine.get("quick").status()).toBe("completed")
    })

    it("that comes while a child is being started leaves no child behind", async () => {
      const gate = new Gate()
      const strict = workflow(
        "strict",
        { input: { "~standard": { version: 1, vendor: "test", validate: async (value: unknown) => gate.passed.then(() => ({ value })) } } },
        async (ctx) => ctx.waitForEvent("word"),
      )
      const starter = workflow("starter", async (ctx) => {
        await Promise.race([ctx.startChild(strict, { id: `${ctx.instance.id}-child`, input: 1 }), ctx.waitForEvent("go")])
      })
      const engine = await open({ workflows: [starter, strict] })
      const [returned, terminated] = [await engine.start(starter, { id: "returned" }), await engine.start(starter, { id: "terminated" })]
      await engine.settle()
      await engine.sendEvent("returned", "go")
      await terminated.terminate()
      expect([await returned.status(), await terminated.status()]).toEqual(["completed", "terminated"])
      gate.open()
      await engine.skip("1h")
      expect(await engine.count({}, "workflow")).toEqual({ starter: 2 })
    })

    it("leaves an unrelated instance alone that has the id of a failed child start", async () => {
      const gate = new Gate()
      const strict = workflow(
        "strict",
        { input: { "~standard": { version: 1, vendor: "test", validate: async (value: unknown) => gate.passed.then(() => ({ value })) } } },
        async (ctx) => ctx.waitForEvent("word"),
      )
      const starter = workflow("starter", (ctx) => ctx.runChild(strict, { id: "taken", input: 1, onParentEnd: "terminate" }))
      const engine = await open({ workflows: [starter, strict, patient] })
      const stranger = await engine.start(patient, { id: "taken" })
      const handle = await engine.start(starter, { id: "p" })
      await engine.settle()
      await handle.terminate()
      await engine.settle()
      expect(await stranger.status()).toBe("waiting")
      gate.open()
      await engine.settle()
      expect(await entriesSeen(stranger)).toEqual(["run.started", "wait.started"])
    })
  })

  describe("a cancel of a parent that waits for a child", () => {
    it("rejects what it waits for, at once and on replay, and the child is cancelled when the parent is over", async () => {
      const seen: unknown[] = []
      const cleaner = workflow("cleaner", async (ctx) => {
        const child = await ctx.startChild(patient, { id: "c" })
        const code = await child.result().catch((error: unknown) => (error as { code: string }).code)
        const again = await child.result().catch((error: unknown) => (error as { code: string }).code)
        seen.push(code, again)
        await ctx.do("clean up", ({ attempt }) => (attempt === 1 ? new Promise<never>(() => undefined) : 1))
      })
      const engine = await open({ workflows: [cleaner, patient] })
      const handle = await engine.start(cleaner, { id: "p" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(await engine.get("c").status()).toBe("waiting")
      await engine.crash()
      expect(await handle.status()).toBe("cancelled")
      expect(seen).toEqual(["CANCELLED", "CANCELLED", "CANCELLED", "CANCELLED"])
      expect(await engine.get("c").status()).toBe("cancelled")
    })
  })

  describe("restarts and children", () => {
    const one = workflow("one", async (ctx: Context, input: unknown) => {
      const child = await ctx.startChild(patient, { onParentEnd: "cancel" })
      await ctx.do("note", () => input)
      const word = await child.result()
      await ctx.do("after", () => 1)
      await ctx.waitForEvent("go")
      return [ctx.instance.run, child.id, word]
    })

    it("a restarted parent starts new children; the children of the run before are over, and their late results are dropped", async () => {
      const engine = await open({ workflows: [one, patient] })
      const handle = await engine.start(one, { id: "p", input: 1 })
      await engine.settle()
      await handle.restart()
      await engine.settle()
      expect(await engine.get("p:patient").status()).toBe("cancelled")
      await engine.sendEvent("p:r2:patient", "word", "second")
      await engine.sendEvent("p", "go")
      expect(await handle.result()).toEqual([2, "p:r2:patient", "second"])
      expect(await stepsSeen(handle)).toContain("patient completed")
    })

    it("a restart from a step keeps the child that was started before it, and its id", async () => {
      const engine = await open({ workflows: [one, patient] })
      const handle = await engine.start(one, { id: "p", input: 1 })
      await engine.settle()
      await handle.restart({ from: "note" })
      await engine.settle()
      await engine.crash()
      expect(await engine.get("p:patient").status()).toBe("waiting")
      await engine.sendEvent("p:patient", "word", "kept")
      await engine.crash()
      await engine.sendEvent("p", "go")
      expect(await handle.result()).toEqual([2, "p:patient", "kept"])
      expect(await engine.count({ workflow: "patient" }, "workflow")).toEqual({ patient: 1 })
    })

    it("a restart from a step keeps what the child came to after that step, before the restart or while the parent was over", async () => {
      const engine = await open({ workflows: [one, patient] })
      const [told, over] = [await engine.start(one, { id: "told", input: 1 }), await engine.start(one, { id: "over", input: 1 })]
      await engine.settle()
      await engine.sendEvent("told:patient", "word", "told")
      await told.restart({ from: "note" })
      await engine.settle()
      await over.terminate()
      await engine.settle()
      await over.restart({ from: "note" })
      await engine.settle()
      await engine.sendEvent("told", "go")
      expect(await told.result()).toEqual([2, "told:patient", "told"])
      await expect(over.result()).rejects.toMatchObject({ code: "CHILD_FAILED", cause: { code: "CANCELLED", details: { instance: "over:patient" } } })
    })

    it("a restart from a step whose child is deleted fails where the result is awaited", async () => {
      const engine = await open({ workflows: [one, patient] })
      const handle = await engine.start(one, { id: "p", input: 1 })
      await engine.settle()
      await handle.terminate()
      await engine.settle()
      await engine.get("p:patient").delete()
      await handle.restart({ from: "note" })
      await engine.settle()
      await expect(handle.result()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("a restart from a step while the child before it is being started starts it once", async () => {
      const gate = new Gate()
      const strict = workflow(
        "strict",
        { input: { "~standard": { version: 1, vendor: "test", validate: async (value: unknown) => gate.passed.then(() => ({ value })) } } },
        async (ctx) => ctx.waitForEvent("word"),
      )
      const both = workflow("both", async (ctx) => {
        const child = ctx.startChild(strict, { input: 1 })
        await ctx.do("note", () => 1)
        return (await child).result()
      })
      const engine = await open({ workflows: [both, strict] })
      const handle = await engine.start(both, { id: "p" })
      await engine.settle()
      await handle.restart({ from: "note" })
      await engine.settle()
      gate.open()
      await engine.settle()
      await engine.sendEvent("p:strict", "word", "once")
      expect(await handle.result()).toBe("once")
      expect(await engine.count({}, "workflow")).toEqual({ both: 1, strict: 1 })
    })

    it("a restarted child tells its parent when its new run ends, and only once", async () => {
      const engine = await open({ workflows: [one, patient] })
      const handle = await engine.start(one, { id: "p", input: 1 })
      await engine.settle()
      await engine.get("p:patient").restart()
      await engine.sendEvent("p:patient", "word", "second run")
      await engine.get("p:patient").restart()
      await engine.sendEvent("p:patient", "word", "third run")
      await engine.sendEvent("p", "go")
      expect(await handle.result()).toEqual([1, "p:patient", "second run"])
      expect((await entriesSeen(handle)).filter((type) => type === "child.ended")).toHaveLength(1)
    })

    it("a child that goes on as new is over when its last run is", async () => {
      const countdown = workflow("countdown", async (ctx: Context, input: number): Promise<string> => {
        await ctx.sleep("tick", "1m")
        return input > 0 ? ctx.continueAsNew(input - 1) : `run ${ctx.instance.run} of ${ctx.instance.parentId}`
      })
      const caller = workflow("caller", (ctx) => ctx.runChild(countdown, { input: 3 }))
      const engine = await open({ workflows: [caller, countdown] })
      const handle = await engine.start(caller, { id: "p" })
      await engine.skip("3m")
      expect(await handle.status()).toBe("waiting")
      await engine.skip("1m")
      expect(await handle.result()).toBe("run 4 of p")
    })

    it("a child whose parent was deleted ends normally, also when another instance has the parent's id", async () => {
      const leaver = workflow("leaver", async (ctx) => void (await ctx.startChild(patient, { id: `${ctx.instance.id}-c`, onParentEnd: "abandon" })))
      const engine = await open({ workflows: [leaver, patient] })
      for (const id of ["gone", "replaced"]) {
        await engine.start(leaver, { id })
        await engine.settle()
        await engine.get(id).delete()
      }
      const stranger = await engine.start(patient, { id: "replaced" })
      await engine.settle()
      for (const id of ["gone-c", "replaced-c"]) {
        await engine.sendEvent(id, "word", id)
        expect(await engine.get(id).result()).toBe(id)
      }
      expect(await entriesSeen(stranger)).toEqual(["run.started", "wait.started"])
    })
  })
}
