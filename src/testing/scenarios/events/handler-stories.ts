import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { allMoments, crashAtEveryWrite } from "../crash-at-every-write.ts"
import { Gate } from "../gate.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

/** Collects events until it receives "stop". */
const collector = workflow("collector", async (ctx: Context) => {
  const heard: unknown[] = []
  ctx.onEvent("word", (word) => heard.push(word))
  await ctx.waitForEvent("stop")
  return heard
})

export function handlerStories(open: OpenBed): void {
  describe("handlers of events", () => {
    it("get what is sent, in order, with its types, also across crashes", async () => {
      const engine = await open({ workflows: [collector] })
      const handle = await engine.start(collector, { id: "i" })
      const words = [1, "two", new Date(3), new Map([[4, 4n]]), undefined]
      for (const word of words) {
        await handle.sendEvent("word", word)
        if (word === "two") await engine.crash()
      }
      await engine.settle()
      await engine.evict("i")
      await engine.sendEvent("i", "stop")
      expect(await handle.result()).toEqual(words)
      expect((await entriesSeen(handle)).filter((type) => type === "event.handled")).toHaveLength(5)
    })

    it("get what was buffered before they were set, in the order in which it came, whatever its type", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        await ctx.sleep("nap", "1m")
        const heard: unknown[] = []
        for (const type of ["b", "a"]) ctx.onEvent(type, (word) => heard.push(word))
        await ctx.waitForEvent("stop")
        return heard
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", delay: "1m" })
      for (const [type, word] of ["a1", "b1", "a2", "c1", "b2"].map((name) => [name.slice(0, 1), name] as const)) await engine.sendEvent("i", type, word)
      await engine.skip("2m")
      await engine.crash()
      await engine.sendEvent("i", "a", "a3")
      await engine.sendEvent("i", "stop")
      expect(await handle.result()).toEqual(["a1", "b1", "a2", "b2", "a3"])
    })

    it("do not get events that a wait takes", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const heard: unknown[] = []
        ctx.onEvent("word", (word) => heard.push(word))
        const waited = [await ctx.waitForEvent("first", { type: "word" }), await ctx.waitForEvent("second", { type: "word" })]
        await ctx.sleep("nap", "1m")
        return [waited, heard]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      for (const word of [1, 2, 3, 4]) await engine.sendEvent("i", "word", word)
      await engine.crash()
      await engine.skip("1m")
      expect(await handle.result()).toEqual([
        [1, 2],
        [3, 4],
      ])
    })

    it("may be replaced, and the last one counts from then on", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const heard: unknown[] = []
        ctx.onEvent("word", (word) => heard.push(["first", word]))
        await ctx.waitForEvent("go")
        ctx.onEvent("word", (word) => heard.push(["second", word]))
        await ctx.waitForEvent("stop")
        return heard
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.sendEvent("i", "word", 1)
      await engine.sendEvent("i", "go")
      await engine.sendEvent("i", "word", 2)
      await engine.crash()
      await engine.sendEvent("i", "stop")
      expect(await handle.result()).toEqual([
        ["first", 1],
        ["second", 2],
      ])
    })

    it("may be asynchronous and use ctx: their steps are recorded and do not repeat", async () => {
      const calls: unknown[] = []
      const flow = workflow("flow", async (ctx: Context<{ order: number; stop: undefined }>) => {
        const done: number[] = []
        ctx.onEvent("order", async (n) => {
          await ctx.do("charge", () => calls.push(n))
          await ctx.sleep("nap", "1m")
          done.push(n)
        })
        await ctx.waitForEvent("stop")
        return done
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      for (const n of [1, 2]) await engine.sendEvent("i", "order", n)
      await engine.crash()
      await engine.skip("1m")
      await engine.sendEvent("i", "order", 3)
      await engine.crash()
      await engine.skip("1m")
      await engine.sendEvent("i", "stop")
      expect(await handle.result()).toEqual([1, 2, 3])
      expect(calls).toEqual([1, 2, 3])
      expect(await stepsSeen(handle)).toEqual([
        "stop completed",
        "charge completed",
        "nap completed",
        "charge#2 completed",
        "nap#2 completed",
        "charge#3 completed",
        "nap#3 completed",
      ])
    })

    it("one that throws, at once or later, fails the run, once and for all", async () => {
      const flow = workflow("flow", async (ctx: Context<{ word: string }>) => {
        ctx.onEvent("word", (word) => {
          if (word === "now") throw new RangeError("thrown at once")
          return ctx.sleep("nap", "1m").then(() => Promise.reject(new RangeError("thrown later")))
        })
        await ctx.sleep("long", "1d")
        return "not reached"
      })
      const engine = await open({ workflows: [flow] })
      const [now, later] = [await engine.start(flow, { id: "now" }), await engine.start(flow, { id: "later" })]
      await engine.sendEvent("now", "word", "now")
      await engine.sendEvent("later", "word", "later")
      await engine.crash()
      await engine.skip("1m")
      await expect(now.result()).rejects.toThrow("thrown at once")
      await expect(later.result()).rejects.toThrow("thrown later")
    })

    it("get nothing while the instance is paused, and all of it after", async () => {
      const engine = await open({ workflows: [collector] })
      const handle = await engine.start(collector, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      for (const word of [1, 2]) await engine.sendEvent("i", "word", word)
      await engine.crash()
      expect(await entriesSeen(handle)).not.toContain("event.handled")
      await handle.resume()
      await engine.settle()
      await engine.sendEvent("i", "word", 3)
      await engine.sendEvent("i", "stop")
      expect(await handle.result()).toEqual([1, 2, 3])
    })

    it("an event with an id that came before is handled once", async () => {
      const engine = await open({ workflows: [collector] })
      const handle = await engine.start(collector, { id: "i" })
      for (const _ of [1, 2]) await handle.sendEvent("word", "once", { eventId: "e" })
      await engine.settle()
      await engine.crash()
      await handle.sendEvent("word", "once", { eventId: "e" })
      await engine.sendEvent("i", "stop")
      expect(await handle.result()).toEqual(["once"])
    })

    it("a handler's step that runs when the workflow returns is given up", async () => {
      const gate = new Gate()
      const flow = workflow("flow", async (ctx: Context) => {
        ctx.onEvent("word", () => ctx.do("slow", () => gate.passed))
        await ctx.waitForEvent("stop")
        return "stopped"
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.sendEvent("i", "word")
      await engine.sendEvent("i", "stop")
      expect(await handle.result()).toBe("stopped")
      expect(await stepsSeen(handle)).toEqual(["stop completed", "slow aborted"])
      gate.open()
    })

    it("whatever write goes wrong, each event is handled once and in order", async () => {
      const flow = workflow("flow", async (ctx: Context<{ word: number; stop: undefined }>) => {
        const heard: number[] = []
        ctx.onEvent("word", async (n) => {
          heard.push(await ctx.do("note", () => n))
        })
        await ctx.waitForEvent("stop")
        return heard
      })
      const writes = await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [flow] })
        doom.arm(engine)
        const until = async (act: () => Promise<unknown>) => {
          for (let tries = 0, done = false; !done && tries < 3; tries++) {
            const acting = act().then(
              () => (done = true),
              () => undefined,
            )
            await Promise.race([acting, engine.skip("10s")])
          }
          await engine.skip("10s")
        }
        await until(() => engine.start(flow, { id: "i", ifExists: "return" }))
        for (const n of [1, 2, 3]) await until(() => engine.get("i").sendEvent("word", n, { eventId: `word-${n}` }))
        await until(() => engine.get("i").sendEvent("stop", undefined, { eventId: "stop" }))
        await engine.skip("1m")
        expect(await engine.get("i").result()).toEqual([1, 2, 3])
        await engine.close()
      }, allMoments)
      expect(writes).toBeGreaterThan(4)
    }, 60_000)

    it("invalid handlers and invalid types are refused", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const codes: unknown[] = []
        for (const set of [
          () => ctx.onEvent("word", "not a function" as never),
          () => ctx.onEvent("", () => 1),
          () => ctx.setQueryHandler("q", undefined as never),
          () => ctx.setUpdateHandler("u", {} as never),
        ]) {
          try {
            set()
          } catch (error) {
            codes.push((error as { code: string }).code)
          }
        }
        return codes
      })
      const engine = await open({ workflows: [flow] })
      expect(await (await engine.start(flow)).result()).toEqual(["BAD_OPTION", "BAD_NAME", "BAD_OPTION", "BAD_OPTION"])
    })
  })
}
