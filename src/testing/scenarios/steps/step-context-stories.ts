import { describe, expect, it } from "vitest"
import { CancelledError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"

export function stepContextStories(open: OpenBed): void {
  describe("what a step's function is given", () => {
    it("the idempotency key is the same for all attempts, also across crashes, and new after a restart", async () => {
      const keys: string[] = []
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        await ctx.do(
          "charge",
          async ({ attempt, idempotencyKey }) => {
            keys.push(idempotencyKey)
            if (attempt === 1) throw new Error("try again")
            if (attempt === 2) await gate.passed
          },
          { retry: { initialInterval: "1s" } },
        )
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("2s")
      await engine.crash()
      await handle.result()
      expect(keys).toHaveLength(3)
      expect(new Set(keys).size).toBe(1)
      gate.open()
      await handle.restart()
      await engine.skipToEnd("i")
      expect(new Set(keys).size).toBe(2)
      expect(keys[3]).not.toBe(keys[0])
    })

    it("every step and every instance has a key of its own, also one that reuses a deleted id", async () => {
      const keys: string[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("a", ({ idempotencyKey }) => void keys.push(idempotencyKey))
        await ctx.do("a", ({ idempotencyKey }) => void keys.push(idempotencyKey))
        await ctx.do("b", ({ step }) => step.do("a", ({ idempotencyKey }) => void keys.push(idempotencyKey)))
      })
      const engine = await open({ workflows: [flow] })
      for (const id of ["i", "j"]) await (await engine.start(flow, { id })).result()
      await engine.settle()
      await engine.get("i").delete()
      await (await engine.start(flow, { id: "i" })).result()
      expect(keys).toHaveLength(9)
      expect(new Set(keys).size).toBe(9)
      for (const key of keys) expect(key).toMatch(/^[\w-]{20,}$/)
    })

    it("a step that a restart kept has the key that it had; those after it have new ones", async () => {
      const keys: Record<string, string[]> = { a: [], b: [] }
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        const slow = ctx.do("a", async ({ idempotencyKey, attempt }) => {
          keys["a"]?.push(idempotencyKey)
          if (attempt === 1) await gate.passed
        })
        await ctx.do("b", ({ idempotencyKey }) => void keys["b"]?.push(idempotencyKey))
        await slow
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.restart({ from: "b" })
      await handle.result()
      expect(keys["a"]).toHaveLength(2)
      expect(new Set(keys["a"]).size).toBe(1)
      expect(new Set(keys["b"]).size).toBe(2)
    })

    it("the signal fires on a timeout, with the reason", async () => {
      const reasons: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx.do(
          "slow",
          ({ signal }) =>
            new Promise<never>(() => {
              signal.addEventListener("abort", () => reasons.push(signal.reason))
            }),
          { timeout: "10s", retry: { maxAttempts: 1 } },
        )
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await engine.skip("9s")
      expect(reasons).toEqual([])
      await engine.skip("1s")
      expect(reasons).toMatchObject([{ code: "STEP_TIMEOUT" }])
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { code: "STEP_TIMEOUT" } })
    })

    it("the signal fires on cancel and on terminate", async () => {
      const reasons = new Map<string, unknown>()
      const flow = workflow("flow", async (ctx) => {
        await ctx.do(
          "slow",
          ({ signal }) =>
            new Promise<void>((resolve) => {
              signal.addEventListener("abort", () => {
                reasons.set(ctx.instance.id, signal.reason)
                resolve()
              })
            }),
        )
      })
      const engine = await open({ workflows: [flow] })
      const cancelled = await engine.start(flow, { id: "cancelled" })
      const terminated = await engine.start(flow, { id: "terminated" })
      await engine.settle()
      await cancelled.cancel("no longer wanted")
      await terminated.terminate("broken")
      await engine.settle()
      expect(reasons.get("cancelled")).toBeInstanceOf(CancelledError)
      expect(reasons.get("cancelled")).toMatchObject({ details: { reason: "no longer wanted" } })
      expect(reasons.get("terminated")).toMatchObject({ code: "TERMINATED" })
      expect(await cancelled.status()).toBe("cancelled")
      expect(await terminated.status()).toBe("terminated")
    })

    it("a signal looked at only after the abort is aborted", async () => {
      const gate = new Gate()
      let aborted: boolean | undefined
      const flow = workflow("flow", (ctx) =>
        ctx.do("slow", async (context) => {
          await gate.passed
          aborted = context.signal.aborted
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      gate.open()
      await engine.settle()
      expect(aborted).toBe(true)
    })

    it("workflow code knows its instance, its run, its start and the step it asked for last", async () => {
      const flow = workflow("flow", { version: "7" }, async (ctx) => {
        await ctx.do("a", () => 1)
        const { incarnation, ...instance } = ctx.instance
        return { ...instance, named: incarnation.length > 0, currentStep: ctx.currentStep, startTime: ctx.startTime }
      })
      const engine = await open({ workflows: [flow], startAt: new Date("2030-05-01T00:00:00Z") })
      const handle = await engine.start(flow, { id: "i" })
      const startedAt = Date.parse("2030-05-01T00:00:00Z")
      const expected = { id: "i", workflow: "flow", version: "7", run: 1, attempt: 1, startedAt, named: true, currentStep: "a", startTime: new Date(startedAt) }
      expect(await handle.result()).toEqual(expected)
      await handle.restart()
      await engine.skipToEnd("i")
      expect(await handle.result()).toEqual({ ...expected, run: 2 })
    })

    it("an interceptor sees every attempt and may change what it comes to", async () => {
      const seen: string[] = []
      const flow = workflow("flow", async (ctx) => ctx.do("outer", ({ step }) => step.do("inner", () => 1)))
      const engine = await open({
        workflows: [flow],
        interceptors: [
          async (step, next) => {
            seen.push(`${step.instance} ${step.id} ${step.attempt}`)
            const value = await next()
            return step.name === "inner" ? (value as number) + 1 : value
          },
        ],
      })
      expect(await (await engine.start(flow, { id: "i" })).result()).toBe(2)
      expect(seen).toEqual(["i outer 1", "i outer/inner 1"])
    })
  })
}
