import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

const once = { retry: { maxAttempts: 1 } }

export function nestedStepStories(open: OpenBed): void {
  describe("steps inside steps", () => {
    it("are recorded under the step that asked for them", async () => {
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", async ({ step }) => {
          const a = await step.do("item", () => 1)
          const b = await step.do("item", ({ step: inner }) => inner.do("part", () => 2))
          return a + b
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      expect(await handle.result()).toBe(3)
      expect((await handle.steps()).map(({ id, parentId, status }) => [id, parentId, status])).toEqual([
        ["order", undefined, "completed"],
        ["order/item", "order", "completed"],
        ["order/item#2", "order", "completed"],
        ["order/item#2/part", "order/item#2", "completed"],
      ])
    })

    it("an outer step is entered again after a crash as the same attempt, and its children answer from the journal", async () => {
      const calls: string[] = []
      const gate = new Gate<string>()
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", async ({ step, attempt }) => {
          calls.push(`order ${attempt}`)
          const a = await step.do("a", ({ attempt: inner }) => (calls.push(`a ${inner}`), "A"))
          const b = await step.do("b", ({ attempt: inner }) => (calls.push(`b ${inner}`), gate.passed))
          return a + b
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(calls).toEqual(["order 1", "a 1", "b 1"])
      await engine.crash()
      expect(calls).toEqual(["order 1", "a 1", "b 1", "order 1", "b 2"])
      gate.open("B")
      expect(await handle.result()).toBe("AB")
    })

    it("a nested result is handed out only once it is durable, so nothing is lost in between", async () => {
      const sideEffects: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", async ({ step }) => {
          const key = await step.do("key", () => `key-${sideEffects.length}`)
          sideEffects.push(key)
          await step.sleep("nap", "1h")
          return key
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      for (let i = 0; i < 3; i++) await engine.crash()
      await engine.skip("1h")
      expect(await handle.result()).toBe("key-0")
      expect(new Set(sideEffects)).toEqual(new Set(["key-0"]))
    })

    it("sleep and wait inside a step, also over crashes", async () => {
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", async ({ step }) => {
          await step.sleep("nap", "1h")
          const word = await step.waitForEvent("word")
          const none = await step.waitForEvent("never", { timeout: "5m", default: "nobody" })
          return [word, none]
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await handle.status()).toBe("sleeping")
      await engine.skip("30m")
      await engine.crash()
      await engine.skip("29m")
      expect(await handle.status()).toBe("sleeping")
      await engine.skip("1m")
      expect(await handle.status()).toBe("waiting")
      await engine.crash()
      await engine.sendEvent("i", "word", "hello")
      await engine.crash()
      await engine.skip("5m")
      expect(await handle.result()).toEqual(["hello", "nobody"])
      expect(await stepsSeen(handle)).toEqual(["order completed", "order/nap completed", "order/word completed", "order/never timedOut"])
    })

    it("the timeout of the outer step does not count nested sleeps and waits", async () => {
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "order",
          async ({ step }) => {
            await step.sleep("nap", "1h")
            return step.waitForEvent("word")
          },
          { timeout: "1m", ...once },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("3h")
      await engine.sendEvent("i", "word", "late, and welcome")
      expect(await handle.result()).toBe("late, and welcome")
    })

    it("the timeout of the outer step counts its own work before and after a nested sleep", async () => {
      const gates = [new Gate(), new Gate()]
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "order",
          async ({ step }) => {
            await gates[0]?.passed
            await step.sleep("nap", "1h")
            await gates[1]?.passed
          },
          { timeout: "1m", ...once },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("40s")
      gates[0]?.open()
      await engine.skip("1h")
      await engine.skip("19s")
      expect(await handle.status()).toBe("running")
      await engine.skip("1s")
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { code: "STEP_TIMEOUT" } })
    })

    it("another attempt of the outer step finds what the one before it recorded", async () => {
      const calls: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "order",
          async ({ step, attempt }) => {
            const paid = await step.do("pay", () => (calls.push("pay"), "paid"))
            if (attempt < 3) throw new Error("the printer is out of paper")
            return `${paid} at ${attempt}`
          },
          { retry: { initialInterval: "1m" } },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.skip("10m")
      expect(await handle.result()).toBe("paid at 3")
      expect(calls).toEqual(["pay"])
    })

    it("a nested step has retries of its own; exhausted, it throws inside the outer step and never runs again", async () => {
      const calls: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "order",
          async ({ step, attempt }) => {
            const answer: unknown = await step
              .do("pay", () => (calls.push("pay"), Promise.reject(new Error("declined"))), { retry: { maxAttempts: 2, initialInterval: "1s" } })
              .catch((error: unknown) => error)
            if (attempt === 1) throw new Error("once more")
            return (answer as Error).message
          },
          { retry: { initialInterval: "1s" } },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      expect(await handle.result()).toBe('step "pay" failed after 2 attempts: declined')
      expect(calls).toEqual(["pay", "pay"])
    })

    it("a nested step's retry keeps its due time over a crash", async () => {
      const calls: number[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", ({ step }) =>
          step.do(
            "pay",
            ({ attempt }) => {
              calls.push(attempt)
              if (attempt === 1) throw new Error("later")
              return "paid"
            },
            { retry: { initialInterval: "10m", maxInterval: "1h", jitter: 0 } },
          ),
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("4m")
      await engine.crash()
      await engine.skip("359s")
      expect(calls).toEqual([1])
      await engine.skip("1s")
      expect(calls).toEqual([1, 2])
      expect(await handle.result()).toBe("paid")
    })

    it("nested steps may run at the same time", async () => {
      const gates = [new Gate<string>(), new Gate<string>()]
      const calls: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", ({ step }) =>
          Promise.all([
            step.do("a", () => (calls.push("a"), gates[0]?.passed)),
            step.do("b", () => (calls.push("b"), gates[1]?.passed)),
            step.sleep("nap", "1m").then(() => "rested"),
          ]),
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      gates[1]?.open("B")
      await engine.settle()
      await engine.crash()
      gates[0]?.open("A")
      await engine.skip("1m")
      expect(await handle.result()).toEqual(["A", "B", "rested"])
      expect(calls).toEqual(["a", "b", "a"])
    })

    it("what is still open inside a step when it ends is told to stop and counts no more", async () => {
      const gate = new Gate<string>()
      let told: AbortSignal | undefined
      const flow = workflow("flow", async (ctx) => {
        const first = await ctx.do("order", async ({ step }) => {
          void step.do("forgotten", ({ signal }) => {
            told = signal
            return gate.passed
          })
          void step.sleep("long", "1d")
          return step.do("quick", () => "quick")
        })
        await ctx.waitForEvent("go")
        return first
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(told?.aborted).toBe(true)
      expect(await handle.status()).toBe("waiting")
      gate.open("late")
      await engine.settle()
      await engine.crash()
      await engine.skip("2d")
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe("quick")
    })

    it("a completed outer step is not entered again, whatever is inside it", async () => {
      const calls: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const value = await ctx.do("order", async ({ step }) => {
          calls.push("order")
          await step.sleep("nap", "1m")
          return step.do("a", () => (calls.push("a"), "A"))
        })
        await ctx.waitForEvent("go")
        return value
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe("A")
      expect(calls).toEqual(["order", "a"])
    })

    it("a cancel rejects nested sleeps and waits, and the function may still clean up with steps", async () => {
      const calls: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", async ({ step }) => {
          try {
            await Promise.all([step.sleep("nap", "1d"), step.waitForEvent("word")])
          } catch (error) {
            calls.push((error as Error).name)
            await step.do("clean up", () => void calls.push("clean up"))
            throw error
          }
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" })
      expect(calls).toEqual(["CancelledError", "clean up"])
    })

    it("a nested wait that is given up through its signal leaves the event to others", async () => {
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", async ({ step }) => {
          const patience = new AbortController()
          const waiting = step.waitForEvent("word", { signal: patience.signal }).catch((error: unknown) => error)
          await step.sleep("patience", "1m")
          patience.abort(new Error("no patience left"))
          const given = await waiting
          await step.sleep("more", "1m")
          return [(given as Error).message, await step.waitForEvent("again", { type: "word" })]
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await engine.sendEvent("i", "word", "still there")
      await engine.skip("1m")
      expect(await handle.result()).toEqual(["no patience left", "still there"])
    })

    it("a cancel ends the wait for a nested step's retry", async () => {
      const seen: string[] = []
      const flow = workflow("flow", (ctx) =>
        ctx.do("order", async ({ step }) => {
          await step
            .do("flaky", () => Promise.reject(new Error("no")), { retry: { initialInterval: "1m" } })
            .catch((error: unknown) => void seen.push((error as Error).name))
        }),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(seen).toEqual(["CancelledError"])
      expect(await handle.status()).toBe("cancelled")
    })

    it("another attempt of the outer step attaches to a child that still runs", async () => {
      const gate = new Gate<string>()
      let calls = 0
      const flow = workflow("flow", (ctx) =>
        ctx.do(
          "order",
          ({ step, attempt }) => {
            const child = step.do("child", () => (calls++, gate.passed))
            if (attempt === 1) throw new Error("too early")
            return child
          },
          { retry: { initialInterval: "1m", jitter: 0 } },
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await stepsSeen(handle)).toEqual(["order retrying", "order/child running"])
      await engine.skip("1m")
      gate.open("grown up")
      expect(await handle.result()).toBe("grown up")
      expect(calls).toBe(1)
    })
  })
}
