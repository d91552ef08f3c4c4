import { describe, expect, it } from "vitest"
import type { PerdureError } from "../../../core/errors.ts"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow, type RollbackPolicy } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function rollbackPolicyStories(open: OpenBed): void {
  const once = { retry: { maxAttempts: 1 } } as const
  const failing = () => Promise.reject(new Error("broken"))
  let undone: unknown[] = []
  /** A step whose rollback notes what it is given. */
  const noted = (name: string) => (result: unknown) => void undone.push([name, result])
  const started = (rollbackPolicy: RollbackPolicy, code: (ctx: Context) => Promise<unknown>) => workflow("flow", { rollbackPolicy }, code)

  describe('rollback of steps that have started: { of: "started" }', () => {
    it("undoes the step that failed too, and gives its rollback no result", async () => {
      undone = []
      const flow = started({ of: "started" }, async (ctx) => {
        await ctx.do("a", () => 1, { rollback: noted("a") })
        await ctx.do("b", failing, { ...once, rollback: noted("b") })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED" })
      expect(undone).toEqual([
        ["b", undefined],
        ["a", 1],
      ])
      expect(await stepsSeen(handle)).toEqual(["a completed", "b failed", "b#rollback completed", "a#rollback completed"])
    })

    it("goes by the order in which the steps started, newest first", async () => {
      undone = []
      const gates = { slow: new Gate(), quick: new Gate() }
      const flow = started({ of: "started" }, async (ctx) => {
        const part = (name: "slow" | "quick") => ctx.do(name, () => gates[name].passed.then(() => name), { rollback: noted(name) })
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
      expect(undone).toEqual([
        ["quick", "quick"],
        ["slow", "slow"],
      ])
    })

    it("undoes a step that waits for its next attempt, and a failed one that the code caught", async () => {
      undone = []
      const flow = started({ of: "started" }, async (ctx) => {
        await ctx.do("caught", failing, { ...once, rollback: noted("caught") }).catch(() => undefined)
        void ctx.do("retrying", failing, { retry: { initialInterval: "1h" }, rollback: noted("retrying") })
        await ctx.do("last", failing, once)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED" })
      expect(undone).toEqual([
        ["retrying", undefined],
        ["caught", undefined],
      ])
    })

    it("is found again after a crash in the middle of it, and nothing is undone twice", async () => {
      undone = []
      const flow = started({ of: "started" }, async (ctx) => {
        await ctx.do("a", () => 1, { rollback: noted("a") })
        // The crash interrupts its first attempt.
        await ctx.do("b", () => 2, { rollback: (result, { attempt }) => (attempt === 1 ? new Promise(() => undefined) : noted("b")(result)) })
        await ctx.do("c", failing, { ...once, rollback: noted("c") })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(undone).toEqual([["c", undefined]])
      await engine.crash()
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED" })
      expect(undone).toEqual([
        ["c", undefined],
        ["b", 2],
        ["a", 1],
      ])
    })

    it("is asked for by a cancel and by a terminate as well", async () => {
      for (const stop of ["cancel", "terminate"] as const) {
        undone = []
        const flow = started({ of: "started" }, async (ctx) => {
          await ctx.do("a", failing, { ...once, rollback: (_, { error }) => void undone.push((error as PerdureError).code) }).catch(() => undefined)
          await ctx.sleep("s", "1h")
        })
        const engine = await open({ workflows: [flow] })
        const handle = await engine.start(flow, { id: stop })
        await engine.settle()
        await (stop === "cancel" ? handle.cancel() : handle.terminate({ rollback: true }))
        await expect(handle.result()).rejects.toThrow(stop === "cancel" ? "cancelled" : "terminated")
        expect(undone).toEqual([stop === "cancel" ? "CANCELLED" : "TERMINATED"])
      }
    })
  })

  describe("a rollback", () => {
    it("is told what the run failed with, and how many attempts its step had, also after a crash", async () => {
      undone = []
      let calls = 0
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        const flaky = () => {
          if (++calls < 3) throw new Error("not yet")
          return calls
        }
        await ctx.do("a", flaky, {
          retry: { initialInterval: 0 },
          rollback: (_, { error, attempts, attempt }) => void undone.push([(error as Error).message, attempts, attempt]),
        })
        await ctx.do("gate", () => gate.passed)
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      gate.open()
      await expect(handle.result()).rejects.toThrow("broken")
      expect(undone).toEqual([["broken", 3, 1]])
    })

    it('that fails ends the others with { onFailure: "stop" }', async () => {
      undone = []
      const flow = workflow("flow", { rollbackPolicy: { onFailure: "stop" } }, async (ctx) => {
        await ctx.do("a", () => 1, { rollback: noted("a") })
        await ctx.do("b", () => 2, { rollback: { run: failing, ...once } })
        await ctx.do("c", () => 3, { rollback: noted("c") })
        throw new Error("broken")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await expect(handle.result()).rejects.toThrow("broken")
      expect(undone).toEqual([["c", 3]])
      expect((await handle.describe()).notRolledBack).toEqual(["b", "a"])
    })

    it("has a policy that is checked when the workflow is defined", () => {
      for (const rollbackPolicy of [{ of: "all" }, { onFailure: "retry" }] as unknown as RollbackPolicy[])
        expect(() => workflow("flow", { rollbackPolicy }, async () => undefined)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    })
  })
}
