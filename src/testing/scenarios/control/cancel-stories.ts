import { describe, expect, it } from "vitest"
import { CancelledError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function cancelStories(open: OpenBed): void {
  describe("cancel", () => {
    it("rejects open sleeps and waits, lets clean-up steps run, and rejects later sleeps and waits", async () => {
      const seen: string[] = []
      const note = (what: string) => (error: unknown) => void seen.push(`${what}: ${(error as Error).name}`)
      const flow = workflow("flow", async (ctx) => {
        await Promise.all([ctx.sleep("nap", "1d").catch(note("nap")), ctx.waitForEvent("word").catch(note("word"))])
        await ctx.do("clean up", () => void seen.push("cleaned up"))
        await ctx.sleep("later", "1s").catch(note("later"))
        await ctx.waitForEvent("later word").catch(note("later word"))
        seen.push(`signal: ${ctx.signal.aborted}`)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.cancel("changed my mind")).toMatchObject({ id: "i", accepted: true })
      await engine.settle()
      expect(seen).toEqual(["nap: CancelledError", "word: CancelledError", "cleaned up", "later: CancelledError", "later word: CancelledError", "signal: true"])
      await expect(handle.result()).rejects.toBeInstanceOf(CancelledError)
      await expect(handle.result()).rejects.toMatchObject({ details: { instance: "i", reason: "changed my mind" } })
      expect(await stepsSeen(handle)).toEqual(["nap cancelled", "word cancelled", "clean up completed"])
    })

    it("ends as cancelled even if the workflow swallows it and returns, or throws something else", async () => {
      const returns = workflow("returns", async (ctx) => {
        await ctx.sleep("nap", "1d").catch(() => undefined)
        return "a result that nobody gets"
      })
      const throws = workflow("throws", async (ctx) => {
        await ctx.sleep("nap", "1d").catch(() => undefined)
        throw new Error("something else")
      })
      const engine = await open({ workflows: [returns, throws] })
      for (const flow of [returns, throws]) {
        const handle = await engine.start(flow, { id: flow.name })
        await engine.settle()
        await handle.cancel()
        await engine.settle()
        expect(await handle.status()).toBe("cancelled")
        await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" })
      }
    })

    it("aborts the signal of a running attempt, whose promise rejects when the attempt ends", async () => {
      const gate = new Gate<string>()
      const seen: string[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx
          .do("work", async ({ signal }) => {
            signal.addEventListener("abort", () => seen.push("told"))
            return gate.passed
          })
          .catch((error: unknown) => seen.push((error as Error).name))
        await ctx.do("clean up", ({ signal }) => void seen.push(`clean up, told to stop: ${signal.aborted}`))
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(seen).toEqual(["told"])
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "cancelling" })
      gate.open("done all the same")
      await engine.settle()
      expect(seen).toEqual(["told", "CancelledError", "clean up, told to stop: false"])
      expect(await handle.status()).toBe("cancelled")
    })

    it("is forced when the grace is over", async () => {
      const seen: string[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx.sleep("nap", "1d").catch(() => undefined)
        await ctx.do("endless", ({ signal }) => {
          signal.addEventListener("abort", () => seen.push("told"))
          return new Promise<never>(() => undefined)
        })
      })
      const engine = await open({ workflows: [flow], cancelGrace: "30s" })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.skip("29s")
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "cancelling" })
      await engine.skip("1s")
      expect(await handle.status()).toBe("cancelled")
      expect(seen).toEqual(["told"])
    })

    it("is forced at the same time when a crash lies between", async () => {
      const flow = workflow("flow", async (ctx) => {
        try {
          await ctx.sleep("nap", "1d")
        } finally {
          await ctx.do("endless clean-up", () => new Promise<never>(() => undefined))
        }
      })
      const engine = await open({ workflows: [flow], cancelGrace: "30s" })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.skip("20s")
      await engine.crash()
      await engine.skip("9s")
      expect(await handle.describe()).toMatchObject({ phase: "cancelling" })
      await engine.skip("1s")
      expect(await handle.status()).toBe("cancelled")
    })

    it("an attempt that a crash cut off is not made again once the instance is being cancelled", async () => {
      let calls = 0
      const flow = workflow("flow", (ctx) =>
        ctx.do("endless", () => {
          calls++
          return new Promise<never>(() => undefined)
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel("enough")
      await engine.settle()
      await engine.crash()
      expect(await handle.status()).toBe("cancelled")
      expect(calls).toBe(1)
      expect(await handle.steps()).toMatchObject([{ id: "endless", status: "failed" }])
    })

    it("a crash in the middle of the clean-up does not undo it", async () => {
      const gate = new Gate()
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        try {
          await ctx.sleep("nap", "1d")
        } finally {
          await ctx.do("first", () => void calls.push("first"))
          await ctx.do("second", ({ attempt }) => {
            calls.push(`second ${attempt}`)
            return attempt === 1 ? gate.passed : undefined
          })
        }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel("why not")
      await engine.settle()
      await engine.crash()
      expect(calls).toEqual(["first", "second 1", "second 2"])
      await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: "why not" } })
    })

    it("a step that waits for its retry is not tried again", async () => {
      const gate = new Gate()
      const attempts: number[] = []
      const seen: string[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx
          .do("flaky", ({ attempt }) => {
            attempts.push(attempt)
            throw new Error("no")
          })
          .catch((error: unknown) => seen.push((error as Error).name))
        await ctx.do("slow clean-up", () => gate.passed)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.skip("20s")
      expect(attempts).toEqual([1])
      expect(seen).toEqual(["CancelledError"])
      gate.open()
      await engine.settle()
      expect(await handle.status()).toBe("cancelled")
      expect(await stepsSeen(handle)).toEqual(["flaky cancelled", "slow clean-up completed"])
    })

    it("an instance that has not begun is cancelled at once, and none of its code runs", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async () => void calls.push("ran"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", delay: "1h" })
      await engine.settle()
      expect(await handle.status()).toBe("queued")
      await handle.cancel()
      await engine.settle()
      expect(await handle.status()).toBe("cancelled")
      await engine.skip("2h")
      expect(calls).toEqual([])
    })

    it("a paused instance runs only its cancellation", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        try {
          await ctx.waitForEvent("word")
          calls.push("went on")
        } finally {
          await ctx.do("clean up", () => void calls.push("clean up"))
        }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      await engine.sendEvent("i", "word", 1)
      await handle.cancel()
      await engine.settle()
      expect(calls).toEqual(["clean up"])
      expect(await handle.status()).toBe("cancelled")
    })

    it("a second cancel changes nothing; cancel of an ended instance is refused", async () => {
      const gate = new Gate()
      const flow = workflow("flow", (ctx) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [flow], cancelGrace: "30s" })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel("first")
      await engine.skip("10s")
      await handle.cancel("second")
      await engine.skip("20s")
      await expect(handle.result()).rejects.toMatchObject({ details: { reason: "first" } })
      expect(await handle.cancel()).toMatchObject({ accepted: false, status: "cancelled" })
      await expect(engine.get("nobody").cancel()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("workflow code that listens to ctx.signal is told, also on replay", async () => {
      const told: string[] = []
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        ctx.signal.addEventListener("abort", () => told.push((ctx.signal.reason as Error).name))
        await ctx.sleep("nap", "1d").catch(() => undefined)
        await ctx.do("slow", ({ attempt }) => (attempt === 1 ? gate.passed : undefined))
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      await engine.crash()
      expect(told).toEqual(["CancelledError", "CancelledError"])
      expect(await handle.status()).toBe("cancelled")
    })

    it("an event that comes during the clean-up changes nothing", async () => {
      const gate = new Gate()
      const flow = workflow("flow", async (ctx) => {
        await ctx.waitForEvent("word").catch(() => undefined)
        await ctx.do("slow", () => gate.passed)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      await engine.sendEvent("i", "word", 1)
      expect(await handle.describe()).toMatchObject({ phase: "cancelling" })
      gate.open()
      await engine.settle()
      expect(await handle.status()).toBe("cancelled")
    })

    it("the timeout of the whole instance is a cancel that ends as failed", async () => {
      const calls: string[] = []
      const flow = workflow("flow", { timeout: "1h" }, async (ctx) => {
        try {
          await ctx.waitForEvent("word")
        } finally {
          await ctx.do("clean up", () => void calls.push("clean up"))
        }
      })
      const engine = await open({ workflows: [flow] })
      const own = await engine.start(flow, { id: "own" })
      const given = await engine.start(flow, { id: "given", timeout: "10m" })
      await engine.skip("9m")
      await engine.crash()
      await engine.skip("1m")
      await expect(given.result()).rejects.toMatchObject({ code: "INSTANCE_TIMEOUT" })
      expect(await given.status()).toBe("failed")
      expect(await own.status()).toBe("waiting")
      await engine.skip("50m")
      expect(await own.status()).toBe("failed")
      expect(calls).toEqual(["clean up", "clean up"])
    })

    it("of one that is pausing runs its cancellation when the attempt ends", async () => {
      const gate = new Gate()
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        try {
          await ctx.do("work", () => gate.passed)
          calls.push("went on")
        } finally {
          await ctx.do("clean up", () => void calls.push("clean up"))
        }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "cancelling" })
      gate.open()
      await engine.settle()
      expect(calls).toEqual(["clean up"])
      expect(await handle.status()).toBe("cancelled")
    })

    it("the timeout of the whole instance is forced after the grace, too", async () => {
      const flow = workflow("flow", { timeout: "1h" }, (ctx) => ctx.do("endless", () => new Promise<never>(() => undefined)))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1h")
      expect(await handle.describe()).toMatchObject({ status: "running", phase: "cancelling" })
      await engine.skip("30s")
      await expect(handle.result()).rejects.toMatchObject({ code: "INSTANCE_TIMEOUT" })
    })
  })
}
