import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { NonRetryableError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { openWithClient } from "../other-process.ts"
import type { OpenBed } from "../scenario-bed.ts"

/** Causes outside the instance: a worker, a child, a limit, a deploy. */
export function whyHolderStories(open: OpenBed): void {
  const startAt = new Date("2030-01-01T00:00:00Z")
  const never = new Gate()
  const flow = workflow("flow", async (ctx: Context, input: string) => {
    if (input === "run") await ctx.do("work", () => never.passed)
    if (input === "sleep") await ctx.sleep("nap", "1h")
    if (input === "many") await Promise.all([ctx.waitForEvent("go"), ctx.sleep("nap", "1h"), ctx.do("work", () => never.passed)])
    if (input === "fail") throw new NonRetryableError("no such account")
  })
  const first = async (handle: { why(): Promise<{ readonly because: readonly string[] }> }) => (await handle.why()).because[0]

  describe("why, by somebody else", () => {
    it("a worker has it: names the worker and the end of its lease, in another process as well", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [flow], startAt, lease: "30s" }, [])
      await engine.start(flow, { id: "i", input: "run" })
      await engine.skip("15s")
      const { workerName: worker } = engine.current.components.worker
      expect(await first(client.get("i"))).toBe(
        `step "work" is running, attempt 1, since 2030-01-01T00:00:00.000Z, on worker "${worker}", whose lease lasts until 2030-01-01T00:00:40.000Z`,
      )
      await client.close()
    })

    it("its worker is gone, and no other is running", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [flow], startAt, lease: "30s" }, [])
      await engine.start(flow, { id: "i", input: "run" })
      await engine.start(flow, { id: "s", input: "sleep" })
      await engine.settle()
      const { workerName: worker } = engine.current.components.worker
      engine.current.kill()
      await engine.host.advanceTo(startAt.getTime() + 31_000, () => Promise.resolve())
      const { because } = await client.get("i").why()
      expect(because[0]).toBe(`worker "${worker}", whose lease ended at 2030-01-01T00:00:30.000Z, is gone; no other is running, start one`)
      expect(because[1]).toContain('step "work" is running')
      await client.close()
    })

    it("no worker runs: a due instance waits for a worker, a sleeping one first shows its wake time", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [flow], startAt }, [flow])
      await engine.start(flow, { id: "s", input: "sleep" })
      await engine.settle()
      await engine.close()
      await client.start(flow, { id: "q", input: "sleep" })
      expect(await first(client.get("q"))).toBe("it is due since 2030-01-01T00:00:00.000Z, and no worker is running; start one")
      expect((await client.get("s").why()).because).toEqual([
        'sleep "nap" lasts until 2030-01-01T01:00:00.000Z, 1h from now',
        "no worker is running; start one",
      ])
      await client.close()
    })

    it("several things are open: what runs is told first, then what it waits for, then timers", async () => {
      const engine = await open({ workflows: [flow], startAt })
      const handle = await engine.start(flow, { id: "i", input: "many" })
      await engine.settle()
      const { because } = await handle.why()
      expect(because.map((sentence) => sentence.split('"')[0])).toEqual(["step ", "wait ", "sleep "])
    })

    it("the worker runs only so many steps at a time", async () => {
      const engine = await open({ workflows: [flow], startAt, maxConcurrentSteps: 1 })
      await engine.start(flow, { id: "a", input: "run" })
      await engine.settle()
      const handle = await engine.start(flow, { id: "b", input: "run" })
      await engine.settle()
      expect(await first(handle)).toBe('step "work" waits for its turn: the worker runs at most 1 steps at a time')
      expect(await first(engine.get("a"))).toContain('step "work" is running')
    })

    it("a child is not over, and how it is", async () => {
      const parent = workflow("parent", async (ctx: Context) => (await ctx.startChild(flow, { id: "c", input: "sleep" })).result())
      const engine = await open({ workflows: [flow, parent], startAt })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await first(handle)).toBe('child "c" is not over, since 2030-01-01T00:00:00.000Z; it is sleeping')
      await engine.get("c").pause()
      await engine.settle()
      expect(await first(handle)).toContain("it is paused")
    })

    it("an update is not answered", async () => {
      const asked = workflow("asked", async (ctx: Context) => {
        ctx.setUpdateHandler("approve", {}, async () => ctx.waitForEvent("second opinion"))
        await ctx.waitForEvent("end")
      })
      const engine = await open({ workflows: [asked], startAt })
      const handle = await engine.start(asked, { id: "i" })
      await engine.settle()
      const answer = handle.update("approve")
      await engine.settle()
      const { because } = await handle.why()
      expect(because).toContain('update "approve" is accepted and not answered yet')
      expect(because).toContain('wait "second opinion" is for event "second opinion" since 2030-01-01T00:00:00.000Z')
      await engine.sendEvent("i", "second opinion", true)
      expect(await answer).toBe(true)
      expect((await handle.why()).because).toHaveLength(1)
    })

    it("a limit: names the holder of the slot; a rate: names the time of the next start", async () => {
      const keyed = workflow(
        "keyed",
        { concurrency: { limit: 1, key: (input) => input, hold: true } },
        async (ctx: Context, _: string) => void (await ctx.waitForEvent("go")),
      )
      const paced = workflow("paced", { rateLimit: { limit: 1, per: "1m" } }, async () => undefined)
      const engine = await open({ workflows: [keyed, paced], startAt })
      await engine.start(keyed, { id: "k1", input: "acme" })
      await engine.settle()
      const waiting = await engine.start(keyed, { id: "k2", input: "acme" })
      for (const id of ["r1", "r2"]) {
        await engine.start(paced, { id })
        await engine.settle()
      }
      expect(await first(waiting)).toBe('it waits for a slot: the limit of 1 at a time of workflow "keyed", key "acme" is taken by "k1"; it is the next')
      expect(await first(engine.get("r2"))).toBe('it waits to be started: workflow "paced" starts at most 1 in 1m; it is the next, at 2030-01-01T00:01:00.000Z')
    })

    it("a debounced start says that another start puts it off", async () => {
      const calm = workflow("calm", { debounce: { key: () => "k", quiet: "10s" } }, async () => undefined)
      const engine = await open({ workflows: [calm], startAt })
      const handle = await engine.start(calm)
      await engine.settle()
      expect(await first(handle)).toBe("it starts at 2030-01-01T00:00:10.000Z, 10s from now, or later if it is started again before (debounce)")
    })

    it("a deploy took its version away: which ones there are", async () => {
      const engine = await open({ workflows: [flow], startAt })
      const handle = await engine.start(flow, { id: "i", input: "sleep" })
      await engine.settle()
      await engine.crash({ workflows: ["2", "3"].map((version) => workflow("flow", { version }, async () => undefined)) })
      expect((await handle.why()).because).toEqual([
        'no worker here has version "1" of workflow "flow" (it has "2", "3")',
        'sleep "nap" lasts until 2030-01-01T01:00:00.000Z, 1h from now',
      ])
    })

    it("a deploy does not fit: both sides, and the ways out", async () => {
      const engine = await open({ workflows: [flow], startAt })
      const handle = await engine.start(flow, { id: "i", input: "sleep" })
      await engine.settle()
      await engine.crash({ workflows: [workflow("flow", async (ctx: Context) => void (await ctx.do("other", () => 1)))] })
      await engine.skip("1h")
      await engine.skip("5s")
      expect(await first(handle)).toBe(
        'it is stalled since 2030-01-01T01:00:05.000Z: the journal has sleep "nap" at position 2, but the code asks for step "other"; ' +
          "deploy the code that recorded it, then resume; or restart it from a step, or terminate it",
      )
    })

    it("an instance is being rolled back: why, and what is being undone", async () => {
      const undone = workflow("undone", async (ctx: Context) => {
        await ctx.do("book", () => 1, { rollback: () => never.passed })
        await ctx.sleep("nap", "1h")
      })
      const engine = await open({ workflows: [undone], startAt })
      const handle = await engine.start(undone, { id: "i" })
      await engine.settle()
      await handle.cancel("too late")
      await engine.settle()
      const { because } = await handle.why()
      expect(because[0]).toBe("it is being rolled back since it was cancelled (too late): what it completed is undone before it ends")
      expect(because[1]).toMatch(/^rollback "book.* is running, attempt 1, since 2030-01-01T00:00:00.000Z, on worker/)
    })

    it("an instance is over: with which error, and that its hook is called again", async () => {
      const engine = await open({
        workflows: [flow],
        startAt,
        onFailed: () => {
          throw new Error("pager is down")
        },
      })
      const handle = await engine.start(flow, { id: "i", input: "fail" })
      await engine.settle()
      const why = await handle.why()
      expect(why.because[0]).toBe("it is over: failed at 2030-01-01T00:00:00.000Z (no such account)")
      expect(why.because[1]).toMatch(/^its hook failed \(attempt 1\) and is called again at 2030-01-01T00:00:0/)
      expect(why.next?.what).toBe("its hook is called again")
      const other = await engine.start(flow, { id: "j", input: "sleep" })
      await engine.settle()
      await other.terminate("wrong customer")
      expect(await first(other)).toBe("it is over: terminated at 2030-01-01T00:00:00.000Z (wrong customer)")
    })
  })
}
