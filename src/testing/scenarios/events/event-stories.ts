import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { EventTimeoutError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function eventStories(open: OpenBed): void {
  const taker = workflow("taker", async (ctx: Context, input: number) => {
    const words: unknown[] = []
    for (let i = 0; i < input; i++) words.push(await ctx.waitForEvent("word"))
    return words
  })

  describe("events", () => {
    it("that come before the wait are kept for it", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.sleep("nap", "1h")
        return ctx.waitForEvent("word")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.sendEvent("i", "word", { n: 1 })
      await engine.crash()
      await engine.skip("1h")
      expect(await handle.result()).toEqual({ n: 1 })
    })

    it("come first in, first out, with or without an open wait", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 6 })
      await engine.sendEvent("i", "word", 1)
      for (const n of [2, 3]) await handle.sendEvent("word", n)
      await engine.crash()
      await Promise.all([4, 5].map((n) => handle.sendEvent("word", n)))
      await engine.evict("i")
      await engine.sendEvent("i", "word", 6)
      expect(await handle.result()).toEqual([1, 2, 3, 4, 5, 6])
    })

    it("that are sent while others are on their way come after them, however close they follow", async () => {
      const engine = await open({ workflows: [taker] })
      const words = Array.from({ length: 30 }, (_, index) => index)
      const handle = await engine.start(taker, { id: "i", input: words.length })
      await engine.settle()
      const inAWhile = async (word: number) => {
        for (let i = 0; i < word; i++) await Promise.resolve()
        await handle.sendEvent("word", word)
      }
      await Promise.all(words.map(inAWhile))
      expect(await handle.result()).toEqual(words)
    })

    it("are told apart by their type, which is the wait's name unless it says otherwise", async () => {
      const flow = workflow("flow", async (ctx) => [
        await ctx.waitForEvent("approval", { type: "answer" }),
        await ctx.waitForEvent("approval", { type: "answer" }),
        await ctx.waitForEvent("payment"),
      ])
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.sendEvent("i", "payment", "money")
      await engine.sendEvent("i", "approval", "not an answer")
      await engine.sendEvent("i", "answer", "yes")
      await engine.sendEvent("i", "answer", "no")
      expect(await handle.result()).toEqual(["yes", "no", "money"])
      expect((await handle.steps()).map(({ id, event }) => [id, event])).toEqual([
        ["approval", "answer"],
        ["approval#2", "answer"],
        ["payment", "payment"],
      ])
    })

    it("go to the wait that was asked for first", async () => {
      const flow = workflow("flow", (ctx) =>
        Promise.all([ctx.waitForEvent("a", { type: "word" }), ctx.waitForEvent("b", { type: "word" }), ctx.waitForEvent("other")]),
      )
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.sendEvent("i", "word", 1)
      await engine.crash()
      await engine.sendEvent("i", "other", 3)
      await engine.sendEvent("i", "word", 2)
      expect(await handle.result()).toEqual([1, 2, 3])
    })

    it("need no payload", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 2 })
      await handle.sendEvent("word")
      await handle.signal("word", null)
      await engine.settle()
      expect(await handle.result()).toEqual([undefined, null])
    })

    it("a wait without a timeout waits for ever", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 1 })
      await engine.skip("52w")
      expect(await handle.status()).toBe("waiting")
      await engine.sendEvent("i", "word", "at last")
      expect(await handle.result()).toEqual(["at last"])
    })

    it("a timeout gives the default, be it undefined", async () => {
      const flow = workflow("flow", async (ctx) => [
        await ctx.waitForEvent("a", { timeout: "1m", default: null }),
        await ctx.waitForEvent("b", { timeout: "1m", default: undefined }),
        await ctx.waitForEvent("c", { timeout: 0, default: "none" }),
      ])
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await engine.skip("2m")
      expect(await handle.result()).toEqual([null, undefined, "none"])
    })

    it("a timeout without a default throws an EventTimeoutError that can be caught, and replays so", async () => {
      const caught: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx.waitForEvent("approval", { type: "answer", timeout: "24h" }).catch((error: unknown) => caught.push(error))
        return ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("12h")
      await engine.crash()
      await engine.skip("12h")
      await engine.crash()
      await engine.sendEvent("i", "go", 1)
      expect(await handle.result()).toBe(1)
      expect(caught).toHaveLength(2)
      for (const error of caught) {
        expect(error).toBeInstanceOf(EventTimeoutError)
        expect(error).toMatchObject({ code: "EVENT_TIMEOUT", details: { step: "approval", event: "answer" } })
      }
    })

    it("an event that was acknowledged before the timeout wins, though the worker had not heard of it", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word", { timeout: "1m", default: "nobody" }))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const { directory } = engine.current.components.store
      expect(await directory.deliver([{ instance: "i", kind: "event", topic: "word", payload: '"in time"', at: engine.now() }])).toEqual(["delivered"])
      await engine.skip("1m")
      expect(await handle.result()).toBe("in time")
    })

    it("a wait that timed out consumes nothing: the next one gets the event", async () => {
      const flow = workflow("flow", async (ctx) => {
        const first = await ctx.waitForEvent("first", { type: "word", timeout: "1m", default: "none" })
        await ctx.sleep("nap", "1m")
        return [first, await ctx.waitForEvent("second", { type: "word" })]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("90s")
      await engine.sendEvent("i", "word", "late")
      await engine.skip("30s")
      expect(await handle.result()).toEqual(["none", "late"])
    })

    it("a wait that was given up through its signal consumes nothing, also on replay", async () => {
      const flow = workflow("flow", async (ctx) => {
        const patience = new AbortController()
        const first = ctx.waitForEvent("first", { type: "word", signal: patience.signal }).catch((error: unknown) => (error as Error).message)
        await ctx.sleep("patience", "1m")
        patience.abort(new Error("no patience"))
        const given = await first
        await ctx.sleep("nap", "1m")
        return [given, await ctx.waitForEvent("second", { type: "word" })]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await engine.sendEvent("i", "word", "for the second")
      await engine.crash()
      await engine.skip("1m")
      expect(await handle.result()).toEqual(["no patience", "for the second"])
      expect(await stepsSeen(handle)).toEqual(["first aborted", "patience completed", "nap completed", "second completed"])
    })

    it("a race between an event and a sleep replays as it went", async () => {
      const flow = workflow("flow", async (ctx) => {
        const winner = await Promise.race([ctx.waitForEvent("word"), ctx.sleep("patience", "1m").then(() => "slept")])
        await ctx.waitForEvent("go")
        return winner
      })
      const engine = await open({ workflows: [flow] })
      const [fast, slow] = [await engine.start(flow, { id: "fast" }), await engine.start(flow, { id: "slow" })]
      await engine.sendEvent("fast", "word", "spoken")
      await engine.skip("1m")
      await engine.sendEvent("slow", "word", "spoken")
      await engine.crash()
      for (const id of ["fast", "slow"]) await engine.sendEvent(id, "go")
      expect(await fast.result()).toBe("spoken")
      expect(await slow.result()).toBe("slept")
    })

    it("one sent twice with the same event id is received once, while unread, after a crash and after it was consumed", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 3 })
      await Promise.all([handle.sendEvent("word", "one", { eventId: "e1" }), handle.sendEvent("word", "one again", { eventId: "e1" })])
      await engine.settle()
      await engine.sendEvent("i", "word", "one after consumption", { eventId: "e1" })
      await engine.crash()
      await engine.sendEvent("i", "word", "one after a crash", { eventId: "e1" })
      await engine.sendEvent("i", "word", "two", { eventId: "e2" })
      await engine.sendEvent("i", "word", "two")
      expect(await handle.result()).toEqual(["one", "two", "two"])
    })

    it("an instance that is over refuses them, whatever it ended with", async () => {
      const engine = await open({ workflows: [taker] })
      const completed = await engine.start(taker, { input: 0 })
      const cancelled = await engine.start(taker, { input: 1 })
      const terminated = await engine.start(taker, { input: 1 })
      await engine.settle()
      await cancelled.cancel()
      await terminated.terminate()
      await engine.settle()
      for (const handle of [completed, cancelled, terminated])
        await expect(handle.sendEvent("word", 1)).rejects.toMatchObject({ code: "INSTANCE_ENDED", details: { instance: handle.id } })
    })

    it("an instance that does not exist takes none", async () => {
      const engine = await open({ workflows: [taker] })
      await expect(engine.get("nobody").sendEvent("word", 1)).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("those still unread when the instance ends are dropped without harm", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 1 })
      await engine.settle()
      const { store, worker } = engine.current.components
      const words = ["1", "2", "3"].map((payload) => ({ instance: "i", kind: "event", topic: "word", payload, at: engine.now() }) as const)
      expect(await store.directory.deliver(words)).toEqual(["delivered", "delivered", "delivered"])
      worker.hint(["i"])
      await engine.settle()
      expect(await handle.result()).toEqual([1])
      expect((await entriesSeen(handle)).at(-1)).toBe("run.completed")
    })

    it("one that finds the instance at rest costs a single commit, and goes behind those that were acknowledged before", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 3 })
      await engine.settle()
      const { committer } = engine.current.components.worker
      const before = committer.commits
      await handle.sendEvent("word", 1)
      expect(committer.commits).toBe(before + 1)
      await engine.settle()
      expect(await engine.current.components.store.journal.readInbox(["i"])).toEqual([])
      const { directory } = engine.current.components.store
      await directory.deliver([{ instance: "i", kind: "event", topic: "word", payload: "2", at: engine.now() }])
      await handle.sendEvent("word", 3)
      await engine.settle()
      expect(await handle.result()).toEqual([1, 2, 3])
    })

    it("of those sent at once to an instance that ends with the first, the others are refused", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 1 })
      await engine.settle()
      const sent = await Promise.allSettled([1, 2, 3].map((n) => handle.sendEvent("word", n)))
      expect(sent.map((outcome) => (outcome.status === "fulfilled" ? "taken" : (outcome.reason as { code: string }).code))).toEqual([
        "taken",
        "INSTANCE_ENDED",
        "INSTANCE_ENDED",
      ])
      expect(await handle.result()).toEqual([1])
    })

    it("sendOrStart starts the instance with its event, and sends to it when it is there", async () => {
      const engine = await open({ workflows: [taker] })
      const send = (payload: number) => engine.sendOrStart(taker, { id: "i", input: 2, event: "word", payload })
      const handle = await send(1)
      await engine.settle()
      expect(await handle.status()).toBe("waiting")
      await send(2)
      await engine.settle()
      expect(await handle.result()).toEqual([1, 2])
      await expect(send(3)).rejects.toMatchObject({ code: "INSTANCE_ENDED" })
      expect(await engine.count({}, "workflow")).toEqual({ taker: 1 })
    })

    it("sendOrStart from many sides at once makes one instance and loses no event", async () => {
      const engine = await open({ workflows: [taker] })
      const numbers = Array.from({ length: 20 }, (_, i) => i)
      await Promise.all(numbers.map((payload) => engine.sendOrStart(taker, { id: "i", input: 20, event: "word", payload, eventId: `e${payload}` })))
      await engine.settle()
      expect(((await engine.get("i").result()) as number[]).toSorted((a, b) => a - b)).toEqual(numbers)
    })

    it("a thousand events to one instance come in order", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i", input: 1_000 })
      const numbers = Array.from({ length: 1_000 }, (_, i) => i)
      for (let i = 0; i < 1_000; i += 100) {
        await Promise.all(numbers.slice(i, i + 100).map((n) => handle.sendEvent("word", n)))
        if (i === 500) await engine.crash()
      }
      await engine.settle()
      expect(await handle.result()).toEqual(numbers)
    })

    it("receiveEvent tells the type, the id and the time of an event with its payload, also after a crash and inside a step", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        await ctx.sleep("nap", "1h")
        const first = await ctx.receiveEvent("first", { type: "word" })
        const second = await ctx.do("inside", ({ step }) => step.receiveEvent("word"))
        await ctx.sleep("again", "1h")
        return [first, second]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      const startedAt = engine.now()
      await handle.sendEvent("word", { n: 1 }, { eventId: "e1" })
      await engine.skip("1h")
      await handle.sendEvent("word")
      await engine.settle()
      await engine.crash()
      await engine.skip("1h")
      expect(await handle.result()).toEqual([
        { type: "word", payload: { n: 1 }, receivedAt: startedAt, eventId: "e1" },
        { type: "word", payload: undefined, receivedAt: startedAt + 3_600_000 },
      ])
    })

    it("receiveEvent throws when its time is over", async () => {
      const flow = workflow("flow", (ctx: Context) => ctx.receiveEvent("word", { timeout: "1h" }))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1h")
      await expect(handle.result()).rejects.toMatchObject({ code: "EVENT_TIMEOUT" })
    })
  })
}
