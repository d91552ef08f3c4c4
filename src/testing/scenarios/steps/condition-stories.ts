import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { expectReplay } from "../../test-engine.ts"
import { crashAtEveryWrite } from "../crash-at-every-write.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function conditionStories(open: OpenBed): void {
  const voters = workflow("voters", async (ctx: Context) => {
    const votes: unknown[] = []
    ctx.onEvent("vote", (vote) => void votes.push(vote))
    ctx.setUpdateHandler("vote", (vote: unknown) => votes.push(vote))
    await ctx.condition(() => votes.length >= 3, { name: "quorum" })
    return ctx.do("count", () => votes)
  })

  describe("a condition", () => {
    it("holds the code until what handlers were told makes it true", async () => {
      const engine = await open({ workflows: [voters] })
      const handle = await engine.start(voters, { id: "i" })
      await engine.settle()
      expect(await handle.status()).toBe("waiting")
      expect((await handle.why()).because[0]).toContain('condition "quorum" does not hold')
      await engine.sendEvent("i", "vote", "a")
      expect(await handle.update("vote", "b")).toBe(2)
      await engine.crash()
      await engine.skip("30d")
      expect(await stepsSeen(handle)).toEqual(["quorum waiting"])
      await engine.sendEvent("i", "vote", "c")
      expect(await handle.result()).toEqual(["a", "b", "c"])
      expect(await handle.steps()).toMatchObject([{ id: "quorum", type: "condition", status: "completed", result: true }, { id: "count" }])
      await expectReplay(await engine.journal("i"), voters)
    })

    it("that holds already lets the code go on at once, without another turn", async () => {
      const eager = workflow("eager", async (ctx) => {
        const met = await ctx.condition(() => true, { timeout: "1h" })
        await ctx.condition(() => met)
        return met
      })
      const engine = await open({ workflows: [eager] })
      const handle = await engine.start(eager, { id: "i" })
      expect(await handle.result()).toBe(true)
      expect((await engine.journal("i")).rows).toHaveLength(1)
    })

    it("may become true by whatever else the code does", async () => {
      const both = workflow("both", async (ctx) => {
        const done: string[] = []
        const work = ["a", "b", "c"].map((name, index) => ctx.sleep(name, `${index + 1}m`).then(() => done.push(name)))
        await ctx.condition(() => done.length === 2)
        const seen = [...done]
        await Promise.all(work)
        return seen
      })
      const engine = await open({ workflows: [both] })
      const handle = await engine.start(both, { id: "i" })
      await engine.skip("1m")
      await engine.evict("i")
      await engine.skip("1m")
      expect((await handle.steps()).find(({ id }) => id === "condition")).toMatchObject({ status: "completed" })
      await engine.skip("1m")
      expect(await handle.result()).toEqual(["a", "b"])
    })

    it("gives false after its timeout, which is durable", async () => {
      const impatient = workflow("impatient", async (ctx) => {
        let told = false
        ctx.onEvent("word", () => void (told = true))
        const met = await ctx.condition(() => told, { timeout: "1h" })
        return [met, await ctx.condition(() => told, { timeout: "1h" })]
      })
      const engine = await open({ workflows: [impatient] })
      const handle = await engine.start(impatient, { id: "i" })
      await engine.skip("30m")
      await engine.crash()
      await engine.skip("31m")
      await engine.sendEvent("i", "word")
      expect(await handle.result()).toEqual([false, true])
      expect(await stepsSeen(handle)).toEqual(["condition timedOut", "condition#2 completed"])
    })

    it("of several lets those go on whose turn it is, one at a time, as they hold then", async () => {
      const lock = workflow("lock", async (ctx) => {
        let holder: string | undefined
        const order: string[] = []
        const work = async (name: string) => {
          await ctx.condition(() => holder === undefined, { name })
          holder = name
          order.push(name)
          await ctx.sleep(`${name} works`, "1m")
          holder = undefined
        }
        await Promise.all(["a", "b", "c"].map(work))
        return [order, ctx.now() - ctx.startTime.getTime()]
      })
      const engine = await open({ workflows: [lock] })
      const handle = await engine.start(lock, { id: "i" })
      await engine.skip("90s")
      await engine.crash()
      await engine.skip("5m")
      expect(await handle.result()).toEqual([["a", "b", "c"], 180_000])
    })

    it("rejects when the instance is cancelled, and when its signal is aborted", async () => {
      const caught = workflow("caught", async (ctx) => {
        const controller = new AbortController()
        const aborted = ctx.condition(() => false, { signal: controller.signal }).catch((error: unknown) => error)
        controller.abort("given up")
        const first = await aborted
        const second = await ctx.condition(() => false).catch((error: unknown) => (error as { code: string }).code)
        return ctx.do("told", () => told.push(first, second))
      })
      const told: unknown[] = []
      const engine = await open({ workflows: [caught] })
      const handle = await engine.start(caught, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(await handle.status()).toBe("cancelled")
      expect(told).toEqual(["given up", "CANCELLED"])
    })

    it("whose predicate throws, asks for something or returns a promise rejects with that, also on replay", async () => {
      const faulty = workflow("faulty", { duplicateSteps: "error" }, async (ctx) => {
        const predicates = [
          () => {
            throw new RangeError("out of it")
          },
          () => ctx.sleep("nap", 1) as unknown as boolean,
          () => Promise.resolve(true) as unknown as boolean,
        ]
        const caught: unknown[] = []
        for (const predicate of predicates) await ctx.condition(predicate).catch((error: unknown) => caught.push((error as Error).message))
        await ctx.waitForEvent("go")
        return caught
      })
      const engine = await open({ workflows: [faulty] })
      const handle = await engine.start(faulty, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual(["out of it", expect.stringContaining("may only read"), expect.stringContaining("returns a promise")])
    })

    it("that is asked for in the place of a wait is a disagreement", async () => {
      const before = workflow("changed", (ctx: Context) => ctx.waitForEvent("x"))
      const engine = await open({ workflows: [before] })
      const handle = await engine.start(before, { id: "i" })
      await engine.settle()
      await engine.crash({ workflows: [workflow("changed", (ctx: Context) => ctx.condition(() => false, { name: "x" }))] })
      await engine.sendEvent("i", "wake")
      await engine.skip("10s")
      expect((await handle.describe()).error).toMatchObject({ message: expect.stringContaining('but the code asks for condition "x"') as string })
    })

    it("whatever crashes, the code goes on once, in the same order", async () => {
      await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [voters] })
        const handle = await engine.start(voters, { id: "i" })
        await engine.settle()
        doom.arm(engine)
        for (const vote of ["a", "b", "c"])
          await doom.insist(() =>
            engine.current
              .get("i")
              .sendEvent("vote", vote, { eventId: vote })
              .catch(() => undefined),
          )
        await doom.rest()
        expect(await handle.result()).toEqual(["a", "b", "c"])
        expect((await entriesSeen(handle)).filter((type) => type === "wait.completed")).toHaveLength(1)
      })
    })
  })

  describe("code that waits for a promise which a handler settles", () => {
    const gathering = workflow("gathering", async (ctx: Context) => {
      const words: unknown[] = []
      await new Promise<void>((resolve) => {
        ctx.onEvent("word", (word) => void words.push(word))
        ctx.setUpdateHandler("finish", () => resolve())
      })
      return words
    })

    it("is waiting, not stalled, however long it takes and whatever crashes", async () => {
      const engine = await open({ workflows: [gathering], maxRecoveries: 2 })
      const handle = await engine.start(gathering, { id: "i" })
      await engine.skip("1d")
      expect(await handle.status()).toBe("waiting")
      expect((await handle.why()).because).toEqual(["its code waits for what a handler of its events or updates is to bring"])
      for (const word of ["a", "b", "c", "d"]) {
        await engine.sendEvent("i", "word", word)
        await engine.crash()
      }
      await engine.evict("i")
      await engine.skip("1d")
      expect(await handle.status()).toBe("waiting")
      await handle.update("finish")
      expect(await handle.result()).toEqual(["a", "b", "c", "d"])
      const entries = await entriesSeen(handle)
      expect([entries.filter((type) => type === "rested"), entries.filter((type) => type === "recovered")]).toEqual([["rested"], []])
    })

    it("says so in the turn that it waits from", async () => {
      const engine = await open({ workflows: [gathering] })
      const handle = await engine.start(gathering, { id: "i" })
      await engine.settle()
      expect(await entriesSeen(handle)).toEqual(["run.started", "rested"])
      expect((await engine.journal("i")).rows).toHaveLength(1)
      await handle.restart()
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ status: "waiting", run: 2 })
    })

    it("can be paused, and is ended by a cancel at the end of the grace", async () => {
      const engine = await open({ workflows: [gathering] })
      const handle = await engine.start(gathering, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      await engine.settle()
      expect(await handle.status()).toBe("waiting")
      await handle.cancel()
      await engine.skip("30s")
      expect(await handle.status()).toBe("cancelled")
    })

    it("stalls where it has only queries, as nothing can settle it", async () => {
      const asked = workflow("asked", async (ctx: Context) => {
        ctx.setQueryHandler("what", () => 1)
        await new Promise<never>(() => undefined)
      })
      const engine = await open({ workflows: [asked] })
      const handle = await engine.start(asked, { id: "i" })
      await engine.skip("10s")
      expect(await handle.status()).toBe("stalled")
    })
  })
}
