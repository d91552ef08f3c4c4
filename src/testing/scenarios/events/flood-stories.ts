import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Context } from "../../../core/workflow/context.ts"
import { Gate } from "../gate.ts"
import type { BedOptions, OpenBed } from "../scenario-bed.ts"

const crowdSize = 1_000
/** How many new starts may run their step before the step of the waking instance: those that had begun, and their share of a claim. */
const overtakenMax = 24

/** Many new starts do not delay instances under way, and waking instances do not delay new starts for ever. */
export function floodStories(open: OpenBed): void {
  const scene = async (bounds: Pick<BedOptions, "maxConcurrentSteps" | "maxResidentInstances"> = { maxConcurrentSteps: 2, maxResidentInstances: 8 }) => {
    let gate = new Gate()
    let passed = 0
    let overtaken: number | undefined
    const crowd = workflow("crowd", (ctx: Context) =>
      ctx.do("work", async () => {
        await gate.passed
        passed++
      }),
    )
    const child = workflow("child", (ctx: Context) => ctx.sleep("nap", "1h"))
    let isBroken = true
    const single = workflow("single", async (ctx: Context, by: Waking) => {
      if (by === "a timer") await ctx.sleep("nap", "1h")
      if (by === "an event") await ctx.waitForEvent("go")
      if (by === "the result of a child") await ctx.runChild(child)
      if (by === "a retry") {
        const work = () => {
          if (isBroken) throw new Error("not yet")
        }
        await ctx.do("try", work, { retry: { initialInterval: "1h", maxInterval: "1h", jitter: 0, maxAttempts: 2 } })
      }
      await ctx.do("after", () => {
        overtaken = passed
      })
    })
    const engine = await open({ workflows: [crowd, child, single], ...bounds })
    return {
      engine,
      single,
      overtaken: () => overtaken,
      flood: async () => {
        await Promise.all(Array.from({ length: crowdSize }, (_, n) => engine.start(crowd, { id: `crowd-${n}` })))
        await engine.settle()
        expect(passed).toBe(0)
        isBroken = false
      },
      letGo: async () => {
        gate.open()
        gate = new Gate()
        gate.open()
        await engine.settle()
        expect(passed).toBe(crowdSize)
      },
    }
  }

  describe("a flood of new starts", () => {
    it.each(["a timer", "an event", "a retry", "the result of a child"] as const)("does not delay an instance that goes on by %s", async (by) => {
      const { engine, single, overtaken, flood, letGo } = await scene()
      const handle = await engine.start(single, { id: "single", input: by })
      await engine.settle()
      // Other instances have taken its place in memory.
      await engine.skip("30m")
      await flood()
      if (by === "an event") await handle.sendEvent("go")
      await engine.skip("30m")
      await letGo()
      expect(await handle.status()).toBe("completed")
      expect(overtaken()).toBeLessThanOrEqual(overtakenMax)
    })

    it.each([{ maxConcurrentSteps: 2 }, { maxResidentInstances: 8 }])("does not delay one that wakes up where the worker has only %o", async (bounds) => {
      const { engine, single, overtaken, flood, letGo } = await scene(bounds)
      const handle = await engine.start(single, { id: "single", input: "a timer" })
      await engine.settle()
      await flood()
      await engine.skip("1h")
      await letGo()
      expect(await handle.status()).toBe("completed")
      expect(overtaken()).toBeLessThanOrEqual(overtakenMax)
    })

    it("does not delay an instance that is resumed", async () => {
      const { engine, single, overtaken, flood, letGo } = await scene()
      const handle = await engine.start(single, { id: "single", input: "a timer" })
      await engine.settle()
      await handle.pause()
      await engine.skip("2h")
      await flood()
      await handle.resume()
      await engine.settle()
      await letGo()
      expect(await handle.status()).toBe("completed")
      expect(overtaken()).toBeLessThanOrEqual(overtakenMax)
    })

    it("is not starved by instances that wake up", async () => {
      const order: string[] = []
      const gate = new Gate()
      const sleeper = workflow("sleeper", async (ctx: Context) => {
        await ctx.sleep("nap", "1h")
        await ctx.do("work", () => void order.push("woken"))
      })
      const fresh = workflow("fresh", (ctx: Context) => ctx.do("work", () => void order.push("new")))
      const blocker = workflow("blocker", (ctx: Context) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [sleeper, fresh, blocker], maxConcurrentSteps: 1, maxResidentInstances: 4 })
      await Promise.all(Array.from({ length: 200 }, (_, n) => engine.start(sleeper, { id: `sleeper-${n}` })))
      await engine.settle()
      await Promise.all(["1", "2", "3", "4"].map((n) => engine.start(blocker, { id: `blocker-${n}`, priority: 1 })))
      await engine.settle()
      await Promise.all(Array.from({ length: 5 }, (_, n) => engine.start(fresh, { id: `fresh-${n}` })))
      await engine.skip("1h")
      gate.open()
      await engine.settle()
      expect(order).toHaveLength(205)
      const places = order.flatMap((kind, place) => (kind === "new" ? [place] : []))
      expect(places[0]).toBeLessThanOrEqual(20)
      expect(places[4]).toBeLessThanOrEqual(80)
      expect(order.slice(0, 80).filter((kind) => kind === "woken").length).toBeGreaterThanOrEqual(70)
    })
  })
}

type Waking = "a timer" | "an event" | "a retry" | "the result of a child"
