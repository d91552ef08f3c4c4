import { describe, expect, it } from "vitest"
import { NonRetryableError } from "../../../core/errors.ts"
import { defineActivity } from "../../../core/workflow/activity.ts"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

/** Activities of the engine that also runs the workflow. */
export function activityStories(open: OpenBed): void {
  const double = defineActivity("double", (n: number) => Promise.resolve(2 * n))

  describe("an activity of this engine", () => {
    it("runs like a step, is recorded as an activity, and its result is never computed again", async () => {
      let calls = 0
      const count = defineActivity("count", (input: { by: number }, { attempt, instance }) => ({ by: (calls += input.by), attempt, instance }))
      const twice = workflow("twice", async (ctx: Context<{ go: undefined }>) => {
        const first = await ctx.activity(count, { input: { by: 2 } })
        const second = await ctx.activity("count", { input: { by: 3 } })
        await ctx.waitForEvent("go")
        return [first, second, await ctx.activity(double, { input: 21 })]
      })
      const engine = await open({ workflows: [twice], activities: [count, double] })
      const handle = await engine.start(twice, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual([{ by: 2, attempt: 1, instance: "i" }, { by: 5, attempt: 1, instance: "i" }, 42])
      expect(calls).toBe(5)
      expect(await stepsSeen(handle)).toEqual(["count completed", "count#2 completed", "go completed", "double completed"])
      expect((await handle.steps()).filter(({ type }) => type === "activity")).toHaveLength(3)
    })

    it("has one attempt without retry, and the error of the last attempt is the cause of its failure", async () => {
      let calls = 0
      const fragile = defineActivity("fragile", () => Promise.reject(new Error(`broken ${++calls}`)))
      const outcomes = workflow("outcomes", async (ctx: Context) => {
        const failed = async (call: Promise<unknown>) => call.catch((error: Error) => [error.name, (error.cause as Error).message])
        return [await failed(ctx.activity(fragile)), await failed(ctx.activity(fragile, { retry: { maxAttempts: 3, initialInterval: "1s", jitter: 0 } }))]
      })
      const engine = await open({ workflows: [outcomes], activities: [fragile], retry: { maxAttempts: 7 } })
      const handle = await engine.start(outcomes, { id: "i" })
      await engine.skipToEnd("i")
      expect(await handle.result()).toEqual([
        ["StepFailedError", "broken 1"],
        ["StepFailedError", "broken 4"],
      ])
    })

    it("takes the options of its definition, which the call overrides", async () => {
      let calls = 0
      const flaky = defineActivity("flaky", { retry: { maxAttempts: 2, initialInterval: 0 } }, () => Promise.reject(new Error(`${++calls}`)))
      const tried = workflow("tried", async (ctx: Context) => {
        await ctx.activity(flaky).catch(() => undefined)
        const first = calls
        await ctx.activity(flaky, { retry: { maxAttempts: 5 } }).catch(() => undefined)
        return [first, calls]
      })
      const engine = await open({ workflows: [tried], activities: [flaky] })
      const handle = await engine.start(tried, { id: "i" })
      await engine.skipToEnd("i")
      expect(await handle.result()).toEqual([2, 7])
    })

    it("is not tried again after a NonRetryableError", async () => {
      let calls = 0
      const final = defineActivity("final", { retry: { maxAttempts: 9 } }, () => {
        calls++
        throw new NonRetryableError("never")
      })
      const one = workflow("one", (ctx: Context) => ctx.activity(final))
      const engine = await open({ workflows: [one], activities: [final] })
      const handle = await engine.start(one, { id: "i" })
      await expect(handle.result()).rejects.toThrow("never")
      expect(calls).toBe(1)
    })

    it("times out, and its signal aborts", async () => {
      const aborted = new Gate()
      const slow = defineActivity("slow", { timeout: "5s" }, async (_: void, { signal }) => {
        signal.addEventListener("abort", () => aborted.open())
        return new Promise(() => undefined)
      })
      const timed = workflow("timed", (ctx: Context) => ctx.activity(slow).catch((error: Error) => (error.cause as { code: string }).code))
      const engine = await open({ workflows: [timed], activities: [slow] })
      const handle = await engine.start(timed, { id: "i" })
      await engine.skip("5s")
      await aborted.passed
      expect(await handle.result()).toBe("STEP_TIMEOUT")
    })

    it("gets a value of its own as input, and refuses what cannot be stored", async () => {
      const change = defineActivity("change", (input: number[]) => input.push(9))
      const kept = workflow("kept", async (ctx: Context) => {
        const input = [1]
        await ctx.activity(change, { input })
        const refused = await ctx.activity("change", { input: () => 1 }).catch((error: { code: string }) => error.code)
        const wrong = await ctx.activity("change", { input, timeout: "soon" as "1s" }).catch((error: { code: string }) => error.code)
        return [input, refused, wrong]
      })
      const engine = await open({ workflows: [kept], activities: [change] })
      const handle = await engine.start(kept, { id: "i" })
      expect(await handle.result()).toEqual([[1], "UNSERIALIZABLE", "BAD_DURATION"])
    })

    it("sees a cancel by its signal, and the workflow sees it, too", async () => {
      const begun = new Gate()
      const patient = defineActivity("patient", async (_: void, { signal }) => {
        begun.open()
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)))
      })
      const clean: string[] = []
      const cancelled = workflow("cancelled", async (ctx: Context) => {
        try {
          await ctx.activity(patient)
        } catch (error) {
          clean.push((error as Error).name)
          throw error
        }
      })
      const engine = await open({ workflows: [cancelled], activities: [patient] })
      const handle = await engine.start(cancelled, { id: "i" })
      await begun.passed
      await handle.cancel()
      await engine.settle()
      expect([await handle.status(), clean]).toEqual(["cancelled", ["CancelledError"]])
    })

    it("that waits in its queue for another engine does not hinder a crash, an eviction or another activity", async () => {
      const both = workflow("both", async (ctx: Context) => Promise.all([ctx.activity("elsewhere", { taskQueue: "far" }), ctx.activity(double, { input: 1 })]))
      const engine = await open({ workflows: [both], activities: [double] })
      const handle = await engine.start(both, { id: "i" })
      await engine.settle()
      expect(await handle.status()).toBe("waiting")
      await engine.crash()
      await engine.evict("i")
      expect(await stepsSeen(handle)).toEqual(["elsewhere running", "double completed"])
      expect(await entriesSeen(handle)).toEqual(["run.started", "step.started", "step.started", "step.completed"])
    })
  })
}
