import { describe, expect, it } from "vitest"
import { NonRetryableError, StepFailedError } from "../../../core/errors.ts"
import type { RetryOptions } from "../../../core/workflow/retry-policy.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function retryStories(open: OpenBed): void {
  /** The seconds between the attempts of a step that always fails. */
  const intervals = async (retry: RetryOptions): Promise<readonly number[]> => {
    const times: number[] = []
    const flow = workflow("flow", (ctx) =>
      ctx.do(
        "fail",
        () => {
          times.push(engine.now())
          throw new Error("no")
        },
        { retry },
      ),
    )
    const engine = await open({ workflows: [flow] })
    await engine.start(flow, { id: "i" })
    await engine.skipToEnd("i")
    return times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000)
  }

  describe("retries", () => {
    it("wait as long as the policy says", async () => {
      expect(await intervals({ backoff: "fixed", initialInterval: "7s", maxAttempts: 4, jitter: 0 })).toEqual([7, 7, 7])
      expect(await intervals({ backoff: "linear", initialInterval: "7s", maxAttempts: 4, jitter: 0 })).toEqual([7, 14, 21])
      expect(await intervals({ backoff: "exponential", initialInterval: "1s", maxAttempts: 5, jitter: 0 })).toEqual([1, 2, 4, 8])
      expect(await intervals({ backoffCoefficient: 3, initialInterval: "1s", maxAttempts: 4, jitter: 0 })).toEqual([1, 3, 9])
      expect(await intervals({ initialInterval: "1m", maxInterval: "3m", maxAttempts: 5, jitter: 0 })).toEqual([60, 120, 180, 180])
    })

    it("are three attempts, a second and two apart with a tenth of jitter, unless said otherwise", async () => {
      const [first = 0, second = 0, ...more] = await intervals({})
      expect(more).toEqual([])
      expect(first).toBeGreaterThanOrEqual(0.9)
      expect(first).toBeLessThanOrEqual(1.1)
      expect(second).toBeGreaterThanOrEqual(1.8)
      expect(second).toBeLessThanOrEqual(2.2)
    })

    it("a function decides: a duration, or false for no more", async () => {
      const asked: unknown[] = []
      const policy = (error: unknown, attempt: number) => {
        asked.push([(error as Error).message, attempt])
        return attempt < 3 ? (`${attempt}m` as const) : false
      }
      expect(await intervals(policy)).toEqual([60, 120])
      expect(asked).toEqual([
        ["no", 1],
        ["no", 2],
        ["no", 3],
      ])
    })

    it("options of the step go before the workflow's, and those before the engine's", async () => {
      const times: Record<string, number[]> = { engine: [], workflow: [], step: [] }
      const fail = (name: string) => () => {
        times[name]?.push(engine.now())
        throw new Error(name)
      }
      const plain = workflow("plain", (ctx) => ctx.do("a", fail("engine")))
      const own = workflow("own", { retry: { initialInterval: "2s" } }, async (ctx) => {
        await ctx.do("a", fail("workflow")).catch(() => undefined)
        await ctx.do("b", fail("step"), { retry: { initialInterval: "3s" } })
      })
      const engine = await open({ workflows: [plain, own], retry: { initialInterval: "1s", maxAttempts: 2, jitter: 0 } })
      for (const flow of [plain, own]) await engine.start(flow, { id: flow.name })
      for (const flow of [plain, own]) await engine.skipToEnd(flow.name)
      const gaps = Object.values(times).map(([first = 0, second = 0, third]) => [second - first, third])
      expect(gaps).toEqual([
        [1000, undefined],
        [2000, undefined],
        [3000, undefined],
      ])
    })

    it("the time of the next attempt survives a crash", async () => {
      const attempts: number[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "flaky",
          ({ attempt }) => {
            attempts.push(attempt)
            if (attempt === 1) throw new Error("later")
            return "done"
          },
          { retry: { initialInterval: "10m", maxInterval: "1h", jitter: 0 } },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("4m")
      expect(await stepsSeen(handle)).toEqual(["flaky retrying"])
      expect(await handle.status()).toBe("sleeping")
      await engine.crash()
      await engine.skip("359s")
      expect(attempts).toEqual([1])
      await engine.skip("1s")
      expect(attempts).toEqual([1, 2])
      expect(await handle.result()).toBe("done")
    })

    it("an attempt that a crash cut off raises the number but does not use up maxAttempts", async () => {
      const attempts: number[] = []
      const gate = new Gate()
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "flaky",
          async ({ attempt }) => {
            attempts.push(attempt)
            if (attempt === 1) await gate.passed
            throw new Error(`attempt ${attempt}`)
          },
          { retry: { maxAttempts: 2, initialInterval: "1s" } },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.skip("1m")
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { message: "attempt 3" } })
      expect(attempts).toEqual([1, 2, 3])
    })

    it("a NonRetryableError stops at once", async () => {
      let calls = 0
      const flow = workflow("flow", (ctx) =>
        ctx.do("pay", () => {
          calls++
          throw new NonRetryableError("the card is blocked", { cause: new Error("code 51") })
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await expect(handle.result()).rejects.toMatchObject({
        code: "STEP_FAILED",
        cause: { code: "NON_RETRYABLE", message: "the card is blocked", cause: { message: "code 51" } },
      })
      expect(calls).toBe(1)
    })

    it("an exhausted step throws a StepFailedError that can be caught, and never runs again", async () => {
      let calls = 0
      const caught: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        try {
          await ctx.do("pay", () => {
            calls++
            throw Object.assign(new TypeError("declined"), { bank: "north" })
          })
        } catch (error) {
          caught.push(error)
        }
        await ctx.waitForEvent("go")
        return "went on"
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe("went on")
      expect(calls).toBe(3)
      expect(caught).toHaveLength(2)
      for (const error of caught) {
        expect(error).toBeInstanceOf(StepFailedError)
        expect(error).toMatchObject({
          message: 'step "pay" failed after 3 attempts: declined',
          cause: { name: "TypeError", message: "declined", bank: "north" },
          details: { step: "pay", attempts: 3 },
        })
        expect((error as Error).cause).toBeInstanceOf(TypeError)
      }
    })

    it("a result after its timeout is dropped, and the next attempt counts", async () => {
      const gates = [new Gate<string>(), new Gate<string>()]
      const flow = workflow("flow", (ctx) =>
        ctx.do("slow", ({ attempt }) => gates[attempt - 1]?.passed, { timeout: "10s", retry: { initialInterval: "5s", jitter: 0 } }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await engine.skip("10s")
      expect(await stepsSeen(handle)).toEqual(["slow retrying"])
      gates[0]?.open("too late")
      await engine.skip("5s")
      expect(await stepsSeen(handle)).toEqual(["slow running"])
      gates[1]?.open("in time")
      expect(await handle.result()).toBe("in time")
    })

    it("a step that always times out fails with the timeout as the cause", async () => {
      const flow = workflow("flow", (ctx) => ctx.do("slow", () => new Promise<never>(() => undefined), { timeout: "10s", retry: { maxAttempts: 2 } }))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skipToEnd("i")
      await expect(handle.result()).rejects.toMatchObject({
        code: "STEP_FAILED",
        cause: { code: "STEP_TIMEOUT", message: expect.stringContaining("10s") as string },
      })
    })

    it("the deadline is over all attempts: no retry begins after it", async () => {
      const times: number[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "flaky",
          () => {
            times.push(engine.now() - startedAt)
            throw new Error("no")
          },
          { deadline: "10s", retry: { maxAttempts: Infinity, backoff: "fixed", initialInterval: "4s", jitter: 0 } },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const startedAt = engine.now()
      const handle = await engine.start(flow, { id: "i" })
      await engine.skipToEnd("i")
      expect(times).toEqual([0, 4000, 8000])
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { message: "no" } })
    })

    it("the deadline ends an attempt that is under way, also when a crash lies between", async () => {
      const flow = workflow("flow", (ctx) => ctx.do("slow", () => new Promise<never>(() => undefined), { deadline: "10s" }))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("6s")
      await engine.crash()
      await engine.skip("3s")
      expect(await handle.status()).toBe("running")
      await engine.skip("1s")
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { code: "DEADLINE_EXCEEDED" } })
    })

    it("an instance with other work goes on while a step waits for its retry", async () => {
      const flow = workflow("flow", async (ctx) => {
        const flaky = ctx.do(
          "flaky",
          ({ attempt }) => {
            if (attempt === 1) throw new Error("later")
            return "ok"
          },
          { retry: { initialInterval: "1h", maxInterval: "1h", jitter: 0 } },
        )
        const word = await ctx.waitForEvent("word")
        await ctx.do("meanwhile", () => 1)
        return [word, await flaky]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("10m")
      await engine.sendEvent("i", "word", "hello")
      expect(await stepsSeen(handle)).toEqual(["flaky retrying", "word completed", "meanwhile completed"])
      await engine.skip("1h")
      expect(await handle.result()).toEqual(["hello", "ok"])
    })

    it("a function that throws or answers nonsense fails the step with that", async () => {
      const cause = (error: unknown) => ((error as Error).cause as Error).message
      const flow = workflow("flow", async (ctx) => {
        const fail = () => Promise.reject(new Error("no"))
        const broken = () => {
          throw new Error("the policy is broken")
        }
        return [await ctx.do("a", fail, { retry: broken }).catch(cause), await ctx.do("b", fail, { retry: () => "soon" as unknown as 5 }).catch(cause)]
      })
      const engine = await open({ workflows: [flow] })
      expect(await (await engine.start(flow)).result()).toEqual(["the policy is broken", expect.stringContaining('the retry function\'s answer: "soon"')])
    })

    it("a function may give a promise: the failure is recorded when that has settled, and a crash before asks again", async () => {
      const gate = new Gate()
      let asked = 0
      let calls = 0
      const flow = workflow("flow", (ctx) =>
        ctx.do("a", () => (++calls < 3 ? Promise.reject(new Error("no")) : calls), {
          retry: async (error, attempt) => {
            asked++
            await gate.passed
            return (error as Error).message === "no" && attempt < 3 ? "1h" : false
          },
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect([asked, await stepsSeen(handle)]).toEqual([1, ["a running"]])
      await engine.crash()
      await engine.settle()
      expect([asked, calls]).toEqual([2, 2])
      gate.open()
      await engine.settle()
      expect(await stepsSeen(handle)).toEqual(["a retrying"])
      await engine.skip("1h")
      expect(await handle.result()).toBe(3)
    })

    it("a promise that rejects fails the step with that; a cancel does not wait for what it gives", async () => {
      const gate = new Gate()
      const fail = () => Promise.reject(new Error("no"))
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("a", fail, { retry: () => Promise.reject(new Error("the policy is broken")) }).catch((error: Error) => ctx.setMemo("a", error.message))
        await ctx.do("b", fail, { retry: () => gate.passed.then(() => "1h" as const) })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect((await handle.describe()).memo?.["a"]).toContain("the policy is broken")
      await handle.cancel()
      gate.open()
      await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" })
    })
  })
}
