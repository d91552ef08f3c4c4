import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

/** The promise behind this many awaits: code with another depth must decide the same on replay. */
const deep = async <T>(promise: Promise<T>, depth: number): Promise<T> => (depth === 0 ? promise : deep(promise, depth - 1))

export function concurrencyStories(open: OpenBed): void {
  describe("several things at once", () => {
    it("Promise.all runs steps at the same time and keeps their order", async () => {
      const gates = { a: new Gate<string>(), b: new Gate<string>() }
      const flow = workflow("flow", (ctx) => Promise.all([ctx.do("a", () => gates.a.passed), ctx.do("b", () => gates.b.passed), ctx.do("c", () => "C")]))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await engine.settle()
      expect(await stepsSeen(handle)).toEqual(["a running", "b running", "c completed"])
      gates.b.open("B")
      await engine.settle()
      gates.a.open("A")
      expect(await handle.result()).toEqual(["A", "B", "C"])
    })

    it("Promise.all with one that a crash cut off asks only for that one again", async () => {
      const calls: string[] = []
      const gate = new Gate()
      const flow = workflow("flow", (ctx) =>
        Promise.all(
          ["a", "b", "c"].map((name) =>
            ctx.do(name, async ({ attempt }) => {
              calls.push(name)
              if (name === "b" && attempt === 1) await gate.passed
              return name
            }),
          ),
        ),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await engine.settle()
      await engine.crash()
      expect(await handle.result()).toEqual(["a", "b", "c"])
      expect(calls).toEqual(["a", "b", "c", "b"])
    })

    it("a race is decided on replay as it was live, whatever the depth of awaits", async () => {
      const orders = [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
      ]
      for (const order of orders) {
        const gates = new Map(order.map((name) => [name, new Gate<string>()]))
        const seen: string[][] = []
        const flow = workflow("flow", async (ctx) => {
          const mine: string[] = []
          seen.push(mine)
          const branch = async (name: string, depth: number) => {
            const value = await deep(
              ctx.do(name, () => gates.get(name)?.passed),
              depth,
            )
            mine.push(name)
            await ctx.do("after", () => name)
            return value
          }
          const branches = [branch("a", 7), branch("b", 0), branch("c", 3)]
          const first = await Promise.race(branches)
          await ctx.do(`won by ${first}`, () => undefined)
          await ctx.waitForEvent("go")
          await Promise.all(branches)
          return [first, ...mine]
        })
        const engine = await open({ workflows: [flow] })
        const handle = await engine.start(flow, { id: "i" })
        await engine.settle()
        // All steps end in one macrotask: only the order of their ends differs.
        for (const name of order) gates.get(name)?.open(name)
        await engine.settle()
        await engine.crash()
        await engine.evict("i")
        await engine.sendEvent("i", "go")
        expect(await handle.result()).toEqual([order[0], ...order])
        expect(new Set(seen.map((names) => names.join())).size).toBe(1)
        expect(seen.length).toBeGreaterThan(1)
      }
    })

    it("the loser of a race may end before, during and after what the winner leads to", async () => {
      const loser = new Gate<string>()
      const step = new Gate<string>()
      const flow = workflow("flow", async (ctx) => {
        const slow = (async () => {
          const value = await ctx.do("slow", () => loser.passed)
          return ctx.do("after slow", () => `${value}!`)
        })()
        const fast = await Promise.race([slow, ctx.do("fast", () => "fast")])
        const next = await ctx.do("next", () => step.passed)
        await ctx.waitForEvent("go")
        return [fast, next, await slow]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      loser.open("slow")
      await engine.settle()
      await engine.crash()
      step.open("next")
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual(["fast", "next", "slow!"])
    })

    it("a race between a step and a sleep goes to the sleep when it is over first", async () => {
      const gate = new Gate<string>()
      const flow = workflow("flow", async (ctx) => {
        const winner = await Promise.race([ctx.do("work", () => gate.passed), ctx.sleep("patience", "1m").then(() => "too slow")])
        await ctx.waitForEvent("go")
        return winner
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      gate.open("at last")
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe("too slow")
      expect(await stepsSeen(handle)).toContain("work completed")
    })

    it("Promise.any and Promise.allSettled see the same failures on replay", async () => {
      const flow = workflow("flow", async (ctx) => {
        const once = { retry: { maxAttempts: 1 } }
        const fail = (text: string) => () => Promise.reject(new Error(text))
        const any = await Promise.any([deep(ctx.do("bad", fail("bad"), once), 4), ctx.do("good", () => "good", once)])
        const settled = await Promise.allSettled([
          ctx.do("worse", fail("worse"), once),
          ctx.sleep("nap", "1s"),
          deep(
            ctx.do("fine", () => 1),
            2,
          ),
        ])
        const none: unknown = await Promise.any([ctx.do("x", fail("x"), once), ctx.do("y", fail("y"), once)]).catch((error: unknown) => error)
        await ctx.waitForEvent("go")
        return [any, settled.map(({ status }) => status), (none as AggregateError).errors.map((error: Error) => error.message)]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1s")
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual([
        "good",
        ["rejected", "fulfilled", "fulfilled"],
        ['step "x" failed after 1 attempt: x', 'step "y" failed after 1 attempt: y'],
      ])
    })

    it("branches that ask for steps of the same name get the same numbers again", async () => {
      const gates = [new Gate<number>(), new Gate<number>(), new Gate<number>()]
      const flow = workflow("flow", async (ctx) => {
        const branch = async (index: number) => {
          const first = await ctx.do("part", () => gates[index]?.passed)
          const second = await ctx.do("part", () => `${index}:${first}`)
          return second
        }
        const all = Promise.all([branch(0), branch(1), branch(2)])
        await ctx.waitForEvent("go")
        return all
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      gates[2]?.open(2)
      gates[0]?.open(0)
      await engine.settle()
      await engine.crash()
      gates[1]?.open(1)
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual(["0:0", "1:1", "2:2"])
    })

    it("a hundred steps at once are all recorded, and survive a crash", async () => {
      let calls = 0
      const flow = workflow("flow", async (ctx) => {
        const all = await Promise.all(Array.from({ length: 100 }, (_, i) => ctx.do("part", () => (calls++, i))))
        await ctx.waitForEvent("go")
        return all.reduce((sum, i) => sum + i, 0)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe(4950)
      expect(calls).toBe(100)
    })

    it("many instances do not mix up", async () => {
      const flow = workflow("flow", async (ctx: Context, input: number) => {
        const doubled = await ctx.do("double", () => input * 2)
        await ctx.sleep("nap", 1_000 + (input % 7) * 1_000)
        return ctx.do("plus one", () => doubled + 1)
      })
      const engine = await open({ workflows: [flow] })
      const handles = await Promise.all(Array.from({ length: 200 }, (_, i) => engine.start(flow, { id: `i${i}`, input: i })))
      await engine.skip("3s")
      await engine.crash()
      await engine.skip("10s")
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map((_, i) => i * 2 + 1))
    })
  })
}
