import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { crashAtEveryWrite } from "../crash-at-every-write.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

const endless = () => new Promise<never>(() => undefined)

export function rollbackControlStories(open: OpenBed): void {
  let undone: string[] = []
  const doable = (ctx: Context, name: string, run: () => unknown = () => undefined) =>
    ctx.do(name, () => `${name} done`, {
      rollback: (result) => {
        undone.push(result)
        return run()
      },
    })

  describe("rollback on cancel", () => {
    it("undoes what was completed, after the code has cleaned up, and reports what could not be undone", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        await ctx.do("b", () => 1, { rollback: { run: () => Promise.reject(new Error("no way back")), retry: { maxAttempts: 1 } } })
        try {
          await ctx.sleep("nap", "1d")
        } finally {
          await ctx.do("clean up", () => void undone.push("cleaned up"))
        }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel("changed my mind")
      await engine.settle()
      await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: "changed my mind" } })
      expect(undone).toEqual(["cleaned up", "a done"])
      expect(await handle.describe()).toMatchObject({ status: "cancelled", notRolledBack: ["b"] })
    })

    it("undoes too where the code swallows the cancel and returns, and a step that completes after it was told", async () => {
      undone = []
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("slow", () => gate.passed.then(() => "slow done"), { rollback: (result) => void undone.push(result) }).catch(() => undefined)
        return "a result that nobody gets"
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(undone).toEqual([])
      gate.open()
      await engine.settle()
      expect(await handle.status()).toBe("cancelled")
      expect(undone).toEqual(["slow done"])
    })

    it("is cut off at the end of the grace, and all that is not undone is reported", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        await doable(ctx, "b", endless)
        await ctx.do("c", () => 1, { rollback: { run: () => Promise.reject(new Error("no")), retry: { maxAttempts: 1 } } })
        await doable(ctx, "d")
        await ctx.sleep("nap", "1d")
      })
      const engine = await open({ workflows: [flow], cancelGrace: "30s" })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.skip("20s")
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "rollingBack" })
      expect((await handle.why()).next).toMatchObject({ what: "its cancel is forced" })
      await engine.crash()
      await engine.skip("10s")
      expect(await handle.describe()).toMatchObject({ status: "cancelled", notRolledBack: ["c", "b", "a"] })
      expect(undone).toEqual(["d done", "b done", "b done"])
    })

    it("that finds the run being undone already is refused, and so are pause and another rollback", async () => {
      undone = []
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a", () => gate.passed)
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.cancel()).toMatchObject({ accepted: false, phase: "rollingBack", reason: "it is being rolled back already" })
      expect(await handle.pause()).toMatchObject({ accepted: false, reason: "it is being rolled back" })
      expect(await handle.terminate({ rollback: true })).toMatchObject({ accepted: false, reason: "it is being rolled back already" })
      gate.open()
      await expect(handle.result()).rejects.toThrow("broken")
      expect(await handle.describe()).not.toHaveProperty("notRolledBack")
    })

    it("that comes while a failed run waits for what is under way changes nothing about it", async () => {
      undone = []
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        const slow = ctx.do("slow", () => gate.passed.then(() => "slow done"), { rollback: (result) => void undone.push(result) })
        await Promise.all([slow, ctx.do("b", () => Promise.reject(new Error("broken")), { retry: { maxAttempts: 1 } })])
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "rollingBack" })
      for (const ask of [() => handle.cancel(), () => handle.pause(), () => handle.terminate({ rollback: true })]) {
        expect(await ask()).toMatchObject({ accepted: false })
        await engine.settle()
      }
      gate.open()
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED" })
      expect(undone).toEqual(["slow done"])
    })
  })

  describe("rollback on timeout of the instance", () => {
    it("runs within the grace, and the instance has failed", async () => {
      undone = []
      const flow = workflow("flow", { timeout: "1h" }, async (ctx) => {
        await doable(ctx, "a")
        await ctx.waitForEvent("word")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1h")
      await expect(handle.result()).rejects.toMatchObject({ code: "INSTANCE_TIMEOUT" })
      expect(undone).toEqual(["a done"])
    })

    it("does not come between a failed run and what it undoes", async () => {
      undone = []
      const gate = new Gate()
      const flow = workflow("flow", { timeout: "1h" }, async (ctx) => {
        await doable(ctx, "a")
        await doable(ctx, "b", () => gate.passed)
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("2h")
      expect(await handle.describe()).toMatchObject({ phase: "rollingBack" })
      gate.open()
      await expect(handle.result()).rejects.toThrow("broken")
      expect(undone).toEqual(["b done", "a done"])
    })
  })

  describe("terminate with rollback", () => {
    const calls: string[] = []
    let gate = new Gate()
    const flow = workflow("flow", async (ctx: Context, input: "sleep" | "work" | "wait") => {
      await doable(ctx, "a")
      try {
        await doable(ctx, "b")
        if (input === "sleep") await ctx.sleep("nap", "1d")
        else if (input === "wait") await ctx.waitForEvent("word")
        else await ctx.do("work", () => gate.passed, { rollback: () => void undone.push("work") })
        calls.push("went on")
      } finally {
        calls.push("finally")
        await ctx.do("clean up", () => void calls.push("cleaned up"))
      }
    })

    it.each(["sleep", "wait", "work"] as const)(
      "of an instance that is in its %s undoes what is completed, and nothing else of the code runs",
      async (input) => {
        undone = []
        calls.length = 0
        gate = new Gate()
        const engine = await open({ workflows: [flow] })
        const handle = await engine.start(flow, { id: "i", input })
        await engine.settle()
        expect(await handle.terminate({ reason: "enough", rollback: true })).toMatchObject({ accepted: true })
        await engine.settle()
        gate.open()
        await engine.skip("2d")
        await expect(handle.result()).rejects.toMatchObject({ code: "TERMINATED", details: { reason: "enough" } })
        expect({ undone, calls }).toEqual({ undone: ["b done", "a done"], calls: [] })
        expect((await stepsSeen(handle)).slice(-3)).toEqual([
          expect.stringMatching(/^(nap|word|work) aborted$/) as string,
          "b#rollback completed",
          "a#rollback completed",
        ])
      },
    )

    it("of an evicted, a paused, a pausing and a cancelling instance", async () => {
      const states: Record<string, (engine: Awaited<ReturnType<typeof open>>) => Promise<unknown>> = {
        evicted: (engine) => engine.evict("i"),
        paused: (engine) => engine.get("i").pause(),
        "paused before a crash": async (engine) => {
          await engine.get("i").pause()
          await engine.crash()
        },
        pausing: (engine) => engine.get("i").pause(),
        cancelling: (engine) => engine.get("i").cancel(),
      }
      for (const [state, enter] of Object.entries(states)) {
        undone = []
        gate = new Gate()
        const engine = await open({ workflows: [flow] })
        const handle = await engine.start(flow, { id: "i", input: state.endsWith("ing") ? "work" : "wait" })
        await engine.settle()
        await enter(engine)
        await engine.settle()
        await handle.terminate({ rollback: true })
        await engine.settle()
        expect({ state, status: await handle.status(), undone }).toEqual({ state, status: "terminated", undone: ["b done", "a done"] })
      }
    })

    it("of a paused instance whose step has failed meanwhile does not wait for the other steps", async () => {
      undone = []
      const failing = new Gate()
      const paused = workflow("paused", async (ctx) => {
        await doable(ctx, "a")
        const slow = ctx.do("slow", endless, { rollback: () => void undone.push("slow") })
        await Promise.all([slow, ctx.do("b", () => failing.passed, { retry: { maxAttempts: 1 } })])
      })
      const engine = await open({ workflows: [paused] })
      const handle = await engine.start(paused, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      failing.fail(new Error("broken"))
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ phase: "pausing" })
      await handle.terminate({ rollback: true })
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "terminated" })
      expect(undone).toEqual(["a done"])
    })

    it("of a paused instance whose code comes to its end on the way undoes all the same, and so does a cancel", async () => {
      for (const control of ["terminate", "cancel"] as const) {
        undone = []
        const last = new Gate()
        const ending = workflow("ending", async (ctx) => {
          await doable(ctx, "a")
          await ctx.do("last", () => last.passed)
          return "a result that nobody gets"
        })
        const engine = await open({ workflows: [ending] })
        const handle = await engine.start(ending, { id: "i" })
        await engine.settle()
        await handle.pause()
        await engine.settle()
        last.open()
        await engine.settle()
        expect(await handle.status()).toBe("paused")
        await (control === "terminate" ? handle.terminate({ rollback: true }) : handle.cancel())
        await engine.settle()
        expect({ status: await handle.status(), undone }).toEqual({ status: control === "terminate" ? "terminated" : "cancelled", undone: ["a done"] })
      }
    })

    it("of a paused instance takes in the events that it held back, before those that come while it undoes", async () => {
      undone = []
      const undoing = new Gate()
      const flow = workflow("flow", async (ctx: Context) => {
        await doable(ctx, "a", () => undoing.passed)
        await ctx.waitForEvent("never")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      await handle.sendEvent("first")
      await engine.settle()
      await handle.terminate({ rollback: true })
      await engine.settle()
      await handle.sendEvent("second")
      await engine.settle()
      undoing.open()
      await engine.settle()
      const { entries } = await handle.history()
      expect(entries.flatMap(({ type, data }) => (type === "event.received" ? [data["event"]] : []))).toEqual(["first", "second"])
      expect({ status: await handle.status(), undone }).toEqual({ status: "terminated", undone: ["a done"] })
    })

    it("lets nothing reach the code any more: no handler is called, no update is accepted, no child is heard of", async () => {
      undone = []
      const seen: string[] = []
      const undoing = new Gate()
      const child = workflow("child", (ctx: Context) => ctx.waitForEvent("word"))
      const parent = workflow("parent", async (ctx: Context) => {
        ctx.onEvent("note", () => void seen.push("event"))
        ctx.setUpdateHandler("change", () => void seen.push("update"))
        await doable(ctx, "a", () => undoing.passed)
        const started = await ctx.startChild(child, { id: "child", onParentEnd: "abandon" })
        await started.result().finally(() => seen.push("child"))
      })
      const engine = await open({ workflows: [parent, child] })
      const handle = await engine.start(parent, { id: "i" })
      await engine.settle()
      await handle.terminate({ rollback: true })
      await engine.settle()
      await engine.sendEvent("i", "note")
      await engine.sendEvent("child", "word")
      await expect(handle.update("change")).rejects.toMatchObject({ code: "INSTANCE_ENDED" })
      await engine.crash()
      undoing.open()
      await engine.settle()
      expect({ status: await handle.status(), seen }).toEqual({ status: "terminated", seen: [] })
      expect(await engine.get("child").status()).toBe("completed")
    })

    it("of an instance that has not begun has nothing to undo; of a stalled one it is refused", async () => {
      const engine = await open({ workflows: [flow] })
      const queued = await engine.start(flow, { id: "queued", input: "wait", delay: "1h" })
      await queued.terminate({ rollback: true })
      await engine.settle()
      expect(await queued.status()).toBe("terminated")
      const stalled = await engine.start(flow, { id: "stalled", input: "wait" })
      await engine.settle()
      await engine.crash({ workflows: [workflow("flow", (ctx) => ctx.sleep("a", "1h"))] })
      await engine.sendEvent("stalled", "word")
      await engine.skip("10s")
      expect(await stalled.terminate({ rollback: true })).toMatchObject({
        accepted: false,
        status: "stalled",
        reason: expect.stringContaining("resume") as string,
      })
      expect(await stalled.terminate()).toMatchObject({ accepted: true, status: "terminated" })
    })

    it("reports what could not be undone; a terminate without cuts it off", async () => {
      const stuck = workflow("stuck", async (ctx) => {
        await ctx.do("a", () => 1, { rollback: endless })
        await ctx.do("b", () => 1, { rollback: { run: () => Promise.reject(new Error("no")), retry: { maxAttempts: 1 } } })
        await ctx.sleep("nap", "1d")
      })
      const engine = await open({ workflows: [stuck] })
      const handle = await engine.start(stuck, { id: "i", timeout: "1h" })
      await engine.settle()
      await handle.terminate({ rollback: true })
      await engine.skip("3h")
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "rollingBack" })
      expect(await handle.terminate("enough")).toMatchObject({ accepted: true, status: "terminated" })
      await expect(handle.result()).rejects.toMatchObject({ code: "TERMINATED", details: { reason: "enough" } })
    })
  })

  describe("a crash at every write while a run is undone", () => {
    const twice = workflow("twice", async (ctx: Context, input: "fail" | "wait") => {
      for (const name of ["a", "b", "c"]) {
        await ctx.do(name, () => name, {
          rollback: {
            run: (result, { attempt }) => {
              undone.push(`${result} ${attempt}`)
              if (result === "b" && attempt === 1) throw new Error("again")
            },
            retry: { maxAttempts: 9, initialInterval: "1m" },
          },
        })
      }
      if (input === "fail") throw new Error("broken")
      await ctx.waitForEvent("word")
    })

    it.each(["fail", "cancel", "terminate"] as const)("%s: each step is undone, none again once that is recorded", async (end) => {
      await crashAtEveryWrite(async (doom) => {
        undone = []
        const engine = await open({ workflows: [twice], cancelGrace: "1d" })
        const handle = await engine.start(twice, { id: "i", input: end === "fail" ? "fail" : "wait" })
        if (end !== "fail") await engine.settle()
        doom.arm(engine)
        if (end !== "fail") await doom.insist(() => (end === "cancel" ? handle.cancel() : handle.terminate({ rollback: true })))
        await doom.rest()
        await engine.skip("1h")
        await doom.rest()
        expect(await handle.status()).toBe(end === "fail" ? "failed" : end === "cancel" ? "cancelled" : "terminated")
        expect(await handle.describe()).not.toHaveProperty("notRolledBack")
        const rollbacks = (await handle.history({ limit: 1_000 })).entries.filter(({ data }) => String(data["id"]).endsWith("#rollback"))
        const completed = rollbacks.filter(({ type }) => type === "step.completed").map(({ data }) => data["id"])
        expect(completed).toEqual(["c#rollback", "b#rollback", "a#rollback"])
        // Rollbacks run newest first, also after an interrupted attempt; at most one attempt was interrupted.
        expect([...undone].map((line) => line[0]).join("")).toMatch(/^c+b+a+$/)
        expect(undone.length).toBeLessThanOrEqual(5)
        await engine.close()
      })
    })
  })
}
