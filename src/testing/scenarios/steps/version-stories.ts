import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { crashAtEveryWrite, unlessEnded } from "../crash-at-every-write.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function versionStories(open: OpenBed): void {
  describe("versions", () => {
    const make = (version: string) => workflow("flow", { version }, async (ctx) => [version, ctx.instance.version, await ctx.waitForEvent("word")])
    const [one, two, three] = [make("1"), make("2"), make("3")]

    it("side by side: an instance keeps the version that it was started with", async () => {
      const engine = await open({ workflows: [one, two] })
      const handles = [
        await engine.start(one, { id: "by-definition" }),
        await engine.start("flow", { id: "by-name" }),
        await engine.start("flow", { id: "by-version", version: "1" }),
      ]
      await engine.crash({ workflows: [two, one, three] })
      handles.push(await engine.start("flow", { id: "by-name-later" }))
      await engine.crash({ workflows: [three, two, one] })
      for (const handle of handles) await engine.sendEvent(handle.id, "word", "hello")
      const results = await Promise.all(handles.map((handle) => handle.result()))
      expect(results).toEqual(["1", "2", "1", "3"].map((version) => [version, version, "hello"]))
      expect(await engine.list({ version: "1", order: "oldest" })).toMatchObject({ instances: [{ id: "by-definition" }, { id: "by-version" }] })
    })

    it("of which nobody has the code: the instance stays, why says so, and it goes on when it is deployed", async () => {
      const engine = await open({ workflows: [one] })
      const running = await engine.start(one, { id: "running" })
      const future = await engine.start("flow", { id: "future", version: "3", allowUnknown: true })
      await engine.settle()
      await engine.crash({ workflows: [two] })
      await engine.sendEvent("running", "word", "meanwhile")
      await engine.sendEvent("future", "word", "early")
      await engine.skip("1d")
      expect([await running.status(), await future.status()]).toEqual(["waiting", "queued"])
      expect((await running.why()).because[0]).toBe('no worker here has version "1" of workflow "flow" (it has "2")')
      expect((await future.why()).because[0]).toBe('no worker here has version "3" of workflow "flow" (it has "2")')
      await engine.crash({ workflows: [two, three, one] })
      expect(await running.result()).toEqual(["1", "1", "meanwhile"])
      expect(await future.result()).toEqual(["3", "3", "early"])
    })

    it("of the same number are refused, and so is a start of a workflow that nobody has", async () => {
      await expect(open({ workflows: [one, make("1")] })).rejects.toMatchObject({ code: "BAD_OPTION" })
      const engine = await open({ workflows: [one, two] })
      await expect(engine.start("other")).rejects.toMatchObject({ code: "UNKNOWN_WORKFLOW" })
    })
  })

  describe("patched", () => {
    let calls: string[] = []
    const note = (name: string) => () => (calls.push(name), name)
    /** The code before the change. */
    const before = workflow("flow", async (ctx: Context) => {
      const seen = [await ctx.do("a", note("a"))]
      seen.push(await ctx.do("charge", note("old charge")))
      await ctx.waitForEvent("word")
      seen.push(await ctx.do("ship", note("old ship")))
      return seen
    })
    /** The code with both branches. */
    const between = workflow("flow", async (ctx: Context) => {
      const seen = [await ctx.do("a", note("a"))]
      seen.push(ctx.patched("fees") ? await ctx.do("charge with fee", note("new charge")) : await ctx.do("charge", note("old charge")))
      await ctx.waitForEvent("word")
      seen.push(ctx.patched("carrier") ? await ctx.do("ship by carrier", note("new ship")) : await ctx.do("ship", note("old ship")))
      return [...seen, ctx.patched("fees"), ctx.patched("carrier")]
    })
    /** The code after all instances of the old branch have ended: the calls of `patched` stay, the old branch is gone. */
    const after = workflow("flow", async (ctx: Context) => {
      const seen = [await ctx.do("a", note("a"))]
      ctx.patched("fees")
      seen.push(await ctx.do("charge with fee", note("new charge")))
      await ctx.waitForEvent("word")
      ctx.patched("carrier")
      seen.push(await ctx.do("ship by carrier", note("new ship")))
      return seen
    })

    it("is true, and recorded once, for an instance that comes to it first", async () => {
      const engine = await open({ workflows: [between] })
      const handle = await engine.start(between, { id: "i" })
      await engine.sendEvent("i", "word")
      expect(await handle.result()).toEqual(["a", "new charge", "new ship", true, true])
      const { entries } = await handle.history()
      expect(entries.filter(({ type }) => type === "patched").map(({ data }) => data["patch"])).toEqual(["fees", "carrier"])
    })

    it("is false where older code has recorded what comes next, and true further on", async () => {
      calls = []
      const engine = await open({ workflows: [before] })
      const handle = await engine.start(before, { id: "i" })
      await engine.settle()
      await engine.crash({ workflows: [between] })
      await engine.sendEvent("i", "word")
      expect(await handle.result()).toEqual(["a", "old charge", "new ship", false, true])
      expect(calls).toEqual(["a", "old charge", "new ship"])
    })

    it("three generations follow each other over instances that are under way", async () => {
      calls = []
      const engine = await open({ workflows: [before] })
      const oldest = await engine.start(before, { id: "oldest" })
      await engine.settle()
      await engine.crash({ workflows: [between] })
      const middle = await engine.start(between, { id: "middle" })
      await engine.settle()
      await engine.sendEvent("oldest", "word")
      expect(await oldest.result()).toEqual(["a", "old charge", "new ship", false, true])
      await engine.crash({ workflows: [after] })
      const newest = await engine.start(after, { id: "newest" })
      await engine.sendEvent("middle", "word")
      await engine.sendEvent("newest", "word")
      expect(await middle.result()).toEqual(["a", "new charge", "new ship"])
      expect(await newest.result()).toEqual(["a", "new charge", "new ship"])
      expect(calls.filter((name) => name === "a")).toHaveLength(3)
    })

    it("an instance of the old path that meets code without it stalls, and goes on once that is back", async () => {
      const engine = await open({ workflows: [before] })
      const handle = await engine.start(before, { id: "i" })
      await engine.settle()
      await engine.crash({ workflows: [after] })
      await engine.sendEvent("i", "word")
      await engine.skip("10s")
      expect(await handle.status()).toBe("stalled")
      expect((await handle.describe()).error).toMatchObject({ message: expect.stringContaining('step "charge"') as string })
      await engine.crash({ workflows: [between] })
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toEqual(["a", "old charge", "new ship", false, true])
    })

    it("deployed with a crash at every write of the old code, each instance comes to its end on one path or the other", async () => {
      const results = new Set<string>()
      await crashAtEveryWrite(async (doom) => {
        calls = []
        const engine = await open({ workflows: [before] })
        const handle = await engine.start(before, { id: "i" })
        doom.arm(engine, { workflows: [between] })
        await doom.rest()
        await doom.insist(() => handle.sendEvent("word").catch(unlessEnded))
        const [, charge, ship, hasFees = false, hasCarrier = false] = await handle.result()
        expect([charge, ship]).toEqual([hasFees ? "new charge" : "old charge", hasCarrier ? "new ship" : "old ship"])
        results.add(`${String(charge)}, ${String(ship)}`)
        const completed = (await entriesSeen(handle)).filter((type) => type === "step.completed")
        expect(completed).toHaveLength(3)
        await engine.close()
      })
      expect([...results].toSorted()).toEqual(["new charge, new ship", "old charge, new ship", "old charge, old ship"])
    })

    it("gives the same for the whole run, with a crash at every write, also where it is asked again and again in a loop", async () => {
      const looping = workflow("looping", async (ctx: Context) => {
        const answers: boolean[] = []
        for (let i = 0; i < 3; i++) {
          answers.push(ctx.patched("p"))
          await ctx.do("work", () => i)
        }
        return answers
      })
      await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [looping] })
        const handle = await engine.start(looping, { id: "i" })
        doom.arm(engine)
        await doom.rest()
        expect(await handle.result()).toEqual([true, true, true])
        expect((await entriesSeen(handle)).filter((type) => type === "patched")).toHaveLength(1)
        await engine.close()
      })
      const old = workflow("looping", async (ctx: Context) => {
        for (let i = 0; i < 3; i++) {
          await ctx.do("work", () => i)
          if (i === 0) await ctx.waitForEvent("word")
        }
      })
      const deployed = workflow("looping", async (ctx: Context) => {
        const answers: boolean[] = []
        for (let i = 0; i < 3; i++) {
          answers.push(ctx.patched("p"))
          await ctx.do("work", () => i)
          if (i === 0) await ctx.waitForEvent("word")
        }
        return answers
      })
      const engine = await open({ workflows: [old] })
      const handle = await engine.start(old, { id: "i" })
      await engine.settle()
      await engine.crash({ workflows: [deployed] })
      await engine.sendEvent("i", "word")
      await engine.crash()
      expect(await handle.result()).toEqual([false, false, false])
    })

    it("is kept by a restart from a step after it, and asked again by a restart from one before", async () => {
      calls = []
      const engine = await open({ workflows: [before] })
      const handle = await engine.start(before, { id: "i" })
      await engine.settle()
      await engine.crash({ workflows: [between] })
      await engine.sendEvent("i", "word")
      await handle.result()
      await handle.restart({ from: "ship by carrier" })
      await engine.settle()
      expect(await handle.result()).toEqual(["a", "old charge", "new ship", false, true])
      await handle.restart({ from: "charge" })
      await engine.settle()
      await engine.sendEvent("i", "word")
      expect(await handle.result()).toEqual(["a", "new charge", "new ship", true, true])
    })

    it("of an instance that is being undone follows what was recorded", async () => {
      const undone: string[] = []
      let isDown = true
      const undo = (result: string) => {
        if (isDown) throw new Error("down")
        undone.push(result)
      }
      const failing = workflow("failing", async (ctx: Context) => {
        await ctx.do("a", () => "a", { rollback: { run: undo, retry: { initialInterval: "1h" } } })
        throw new Error("broken")
      })
      const mended = workflow("failing", async (ctx: Context) => {
        await ctx.do("a", () => "a", { rollback: { run: undo, retry: { initialInterval: "1h" } } })
        if (ctx.patched("mended")) return "mended"
        throw new Error("broken")
      })
      const engine = await open({ workflows: [failing] })
      const handle = await engine.start(failing, { id: "i" })
      await engine.settle()
      isDown = false
      await engine.crash({ workflows: [mended] })
      await engine.skip("2h")
      await expect(handle.result()).rejects.toThrow("broken")
      expect(undone).toEqual(["a"])
      expect(await stepsSeen(handle)).toEqual(["a completed", "a#rollback completed"])
    })
  })
}
