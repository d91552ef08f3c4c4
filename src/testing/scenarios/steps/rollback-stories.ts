import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import type { PerdureError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { macrotask } from "../../../hosts/simulated/simulated-host.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function rollbackStories(open: OpenBed): void {
  let undone: string[] = []
  /** A step that records its effect, with a rollback. */
  const doable = (ctx: Context, name: string) => ctx.do(name, () => `${name} done`, { rollback: (result) => void undone.push(result) })
  const failing = () => Promise.reject(new Error("broken"))
  const once = { retry: { maxAttempts: 1 } } as const

  describe("rollback", () => {
    it("undoes completed steps, newest first, when the run fails", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        await ctx.do("b", () => "has none")
        await doable(ctx, "c")
        await doable(ctx, "c")
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await expect(handle.result()).rejects.toThrow("broken")
      expect(undone).toEqual(["c done", "c done", "a done"])
      expect(await stepsSeen(handle)).toEqual([
        "a completed",
        "b completed",
        "c completed",
        "c#2 completed",
        "c#2#rollback completed",
        "c#rollback completed",
        "a#rollback completed",
      ])
      expect((await handle.steps()).map(({ name, type }) => `${name} ${type}`).slice(-2)).toEqual(["c rollback", "a rollback"])
      const description = await handle.describe()
      expect(description).toMatchObject({ status: "failed" })
      expect(description).not.toHaveProperty("notRolledBack")
    })

    it("of parallel steps goes by the order in which they completed", async () => {
      undone = []
      const gates = { slow: new Gate(), quick: new Gate() }
      const flow = workflow("flow", async (ctx) => {
        const part = (name: "slow" | "quick") => ctx.do(name, () => gates[name].passed.then(() => name), { rollback: (result) => void undone.push(result) })
        await Promise.all([part("slow"), part("quick")])
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      gates.quick.open()
      await engine.settle()
      gates.slow.open()
      await expect(handle.result()).rejects.toThrow("broken")
      expect(undone).toEqual(["slow", "quick"])
    })

    it("does not run where the workflow completes, or catches what went wrong and goes on", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        await ctx.do("b", failing, once).catch(() => undefined)
        return "went on"
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      expect(await handle.result()).toBe("went on")
      await engine.crash()
      expect(undone).toEqual([])
      expect(await stepsSeen(handle)).toEqual(["a completed", "b failed"])
    })

    it("of a step that failed does not run", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        await ctx.do("b", failing, { ...once, rollback: () => void undone.push("b") })
      })
      const engine = await open({ workflows: [flow] })
      await expect((await engine.start(flow, { id: "i" })).result()).rejects.toMatchObject({ code: "STEP_FAILED" })
      expect(undone).toEqual(["a done"])
    })

    it("runs too where the workflow returns what cannot be stored", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        return () => "a function"
      })
      const engine = await open({ workflows: [flow] })
      await expect((await engine.start(flow, { id: "i" })).result()).rejects.toMatchObject({ code: "UNSERIALIZABLE" })
      expect(undone).toEqual(["a done"])
    })

    it("runs too where the workflow asks for too many steps", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        for (;;) await doable(ctx, "a")
      })
      const engine = await open({ workflows: [flow], limits: { stepsMax: 3 } })
      await expect((await engine.start(flow, { id: "i" })).result()).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" })
      expect(undone).toHaveLength(3)
    })

    it("gets a copy of the result of its own at each attempt, and the context of a step", async () => {
      const seen: unknown[] = []
      const keys = new Set<string>()
      const flow = workflow("flow", async (ctx) => {
        const result = await ctx.do("a", () => ({ list: [1, 2], at: new Date(0) }), {
          rollback: (given, { attempt, idempotencyKey, signal }) => {
            seen.push({ list: [...given.list], at: given.at, attempt, told: signal.aborted })
            keys.add(idempotencyKey)
            given.list.push(3)
            if (attempt < 3) throw new Error("again")
          },
        })
        result.list.length = 0
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await expect(handle.result()).rejects.toThrow("broken")
      expect(seen).toEqual([1, 2, 3].map((attempt) => ({ list: [1, 2], at: new Date(0), attempt, told: false })))
      expect(keys.size).toBe(1)
    })

    it("has retries of its own; one that uses them up is reported, and the others still run", async () => {
      undone = []
      let tries = 0
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        const run = () => {
          tries++
          throw new Error("cannot be undone")
        }
        await ctx.do("b", () => 1, { rollback: { run, retry: { maxAttempts: 4, initialInterval: "1h", backoff: "fixed", jitter: 0 } } })
        await doable(ctx, "c")
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("2h")
      expect({ undone, tries }).toEqual({ undone: ["c done"], tries: 3 })
      expect(await handle.describe()).toMatchObject({ status: "sleeping", phase: "rollingBack" })
      expect((await handle.why()).because[0]).toContain("rolled back")
      await engine.crash()
      await engine.skip("1h")
      await expect(handle.result()).rejects.toThrow("broken")
      expect({ undone, tries }).toEqual({ undone: ["c done", "a done"], tries: 4 })
      expect(await handle.describe()).toMatchObject({ status: "failed", notRolledBack: ["b"] })
      expect((await handle.steps()).find(({ id }) => id === "b#rollback")).toMatchObject({ status: "failed", attempts: 4, type: "rollback", name: "b" })
    })

    it("may have steps inside, which are tried again like others", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("a", () => "a", {
          rollback: async (_result, { step }) => {
            await step.do("first", () => void calls.push("first"))
            await step.sleep("rest", "1m")
            await step.do("second", ({ attempt }) => {
              calls.push(`second ${attempt}`)
              if (attempt === 1) throw new Error("again")
            })
          },
        })
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("5m")
      await expect(handle.result()).rejects.toThrow("broken")
      expect(calls).toEqual(["first", "second 1", "second 2"])
      expect(await handle.describe()).not.toHaveProperty("notRolledBack")
    })

    it("waits for steps that are under way when the run fails, tells them, and undoes those that complete", async () => {
      undone = []
      const told: unknown[] = []
      const gates = [new Gate(), new Gate()]
      const flow = workflow("flow", async (ctx) => {
        // Promises that the code left behind never settle.
        const left = (what: string) => () => void told.push(`${what}, and the code went on`)
        const slow = [0, 1].map((i) =>
          ctx.do(
            `slow-${i}`,
            ({ signal }) => {
              signal.addEventListener("abort", () => told.push((signal.reason as PerdureError).code))
              return gates[i]!.passed.then(() => `slow-${i}`)
            },
            { rollback: (result) => void undone.push(result) },
          ),
        )
        for (const step of slow) void step.then(left("resolved"), left("rejected"))
        await ctx.do("b", failing, once)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(told).toEqual(["INSTANCE_ENDED", "INSTANCE_ENDED"])
      expect({ status: await handle.status(), undone }).toEqual({ status: "running", undone: [] })
      gates[0]!.open()
      gates[1]!.fail(new Error("given up"))
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", details: { step: "b" } })
      expect(undone).toEqual(["slow-0"])
      expect(told).toHaveLength(2)
      expect(await stepsSeen(handle)).toEqual(["slow-0 completed", "slow-1 failed", "b failed", "slow-0#rollback completed"])
    })

    it("does not wait for sleeps and waits, nor for those inside steps, nor for steps that were to be tried again", async () => {
      undone = []
      const calls: string[] = []
      const flow = workflow("flow", { retry: { initialInterval: "1h", jitter: 0 } }, async (ctx) => {
        await doable(ctx, "a")
        const inside = ctx.do("outer", ({ step }) => Promise.all([step.sleep("nap", "1d"), step.waitForEvent("word"), step.do("flaky inside", failing)]))
        await Promise.all([
          ctx.sleep("nap", "1d"),
          ctx.waitForEvent("word"),
          inside,
          ctx.do("flaky", () => {
            calls.push("flaky")
            throw new Error("again")
          }),
          ctx.sleep("a while", "1m").then(() => failing()),
        ])
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await expect(handle.result()).rejects.toThrow("broken")
      expect({ undone, calls }).toEqual({ undone: ["a done"], calls: ["flaky"] })
      expect(await stepsSeen(handle)).toEqual(expect.arrayContaining(["nap aborted", "word aborted", "outer failed", "flaky aborted", "a#rollback completed"]))
      await engine.skip("2d")
      expect(calls).toEqual(["flaky"])
    })

    it("of a step inside another is refused, and so is one that is no function", async () => {
      const seen: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("outer", ({ step }) => step.do("inner", () => 1, { rollback: () => undefined })).catch((error: unknown) => seen.push(error))
        await ctx.do("odd", () => 1, { rollback: "later" as never }).catch((error: unknown) => seen.push(error))
        await ctx.do("odd", () => 1, { rollback: { run: () => 1, timeout: "soon" as never } }).catch((error: unknown) => seen.push(error))
      })
      const engine = await open({ workflows: [flow], retry: { maxAttempts: 1 } })
      await (await engine.start(flow, { id: "i" })).result()
      expect(seen).toMatchObject([{ code: "STEP_FAILED", cause: { code: "BAD_OPTION" } }, { code: "BAD_OPTION" }, { code: "BAD_DURATION" }])
    })

    it("after a restart from a step undoes the steps that were kept, too", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        const kept = await ctx.do("a", () => `a of run ${ctx.instance.run}`, { rollback: (result) => void undone.push(result) })
        await ctx.do("b", () => `b of run ${ctx.instance.run}`, { rollback: (result) => void undone.push(result) })
        if (ctx.instance.run === 2) throw new Error("broken")
        return kept
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await handle.result()
      await handle.restart({ from: "b" })
      await engine.settle()
      await expect(handle.result()).rejects.toThrow("broken")
      expect(undone).toEqual(["b of run 2", "a of run 1"])
    })

    it("that failed is tried again by a restart from it", async () => {
      undone = []
      let isDown = true
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        const run = () => (isDown ? Promise.reject(new Error("down")) : void undone.push("b done"))
        await ctx.do("b", () => 1, { rollback: { run, ...once } })
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ notRolledBack: ["b"] })
      isDown = false
      await handle.restart({ from: "b#rollback" })
      await engine.settle()
      const description = await handle.describe()
      expect(description).toMatchObject({ status: "failed", run: 2 })
      expect(description).not.toHaveProperty("notRolledBack")
      expect(undone).toEqual(["a done", "b done", "a done"])
    })

    it.each(["cancel", "pause", "terminate"] as const)(
      "and a %s that come at the same moment: whichever is first, each step is undone once",
      async (control) => {
        for (let apart = -5; apart <= 5; apart++) {
          undone = []
          const gate = new Gate<never>()
          const flow = workflow("flow", async (ctx) => {
            await doable(ctx, "a")
            await ctx.do("b", () => gate.passed, once)
          })
          const engine = await open({ workflows: [flow] })
          const handle = await engine.start(flow, { id: "i" })
          await engine.settle()
          const steer = () => (control === "terminate" ? handle.terminate({ rollback: true }) : handle[control]())
          const beats = async () => {
            for (let beat = 0; beat < Math.abs(apart); beat++) await new Promise<void>((resolve) => macrotask(resolve))
          }
          const fail = () => gate.fail(new Error("broken"))
          if (apart >= 0) fail()
          await (apart < 0 ? Promise.all([steer(), beats().then(fail)]) : beats().then(steer))
          await engine.skip("1m")
          if ((await handle.status()) === "paused") await handle.resume()
          await engine.settle()
          expect(["failed", "cancelled", "terminated"]).toContain(await handle.status())
          expect(undone).toEqual(["a done"])
          expect(await handle.describe()).not.toHaveProperty("notRolledBack")
        }
      },
    )

    it("a replaced step is undone by its own rollback, which can be replaced by its id", async () => {
      undone = []
      const flow = workflow("flow", async (ctx) => {
        await doable(ctx, "a")
        await doable(ctx, "b")
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      engine.mockStep(flow, "a", "a replaced")
      engine.mockStep(flow, "b#rollback", () => void undone.push("b undone otherwise"))
      await expect((await engine.start(flow, { id: "i" })).result()).rejects.toThrow("broken")
      expect(undone).toEqual(["b undone otherwise", "a replaced"])
    })
  })
}
