import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Engine } from "../../../engine/engine.ts"
import type { TestEngine } from "../../test-engine.ts"
import { entriesSeen, type OpenBed } from "../scenario-bed.ts"

/** Controls of instances that no worker has; then a worker opens. */
export function unownedControlStories(open: OpenBed): void {
  describe("controls of an instance that nobody runs", () => {
    let calls: string[] = []
    const plain = workflow("plain", (ctx) => ctx.do("a", () => calls.push("a")))
    const nap = workflow("nap", async (ctx) => {
      try {
        await ctx.sleep("nap", "1h")
        await ctx.do("after", () => calls.push("after"))
      } finally {
        await ctx.do("clean up", () => calls.push("clean up"))
      }
    })
    const flaky = workflow("flaky", { retry: { initialInterval: "10m", jitter: 0 } }, (ctx) =>
      ctx.do("flaky", ({ attempt }) => {
        calls.push(`attempt ${attempt}`)
        throw new Error("not yet")
      }),
    )
    const letter = workflow("letter", async (ctx: Context<{ letter: number }>) => {
      const got = await ctx.waitForEvent("letter")
      await ctx.do("read", () => calls.push(`read ${got}`))
      return got
    })
    const workflows = [plain, nap, flaky, letter]
    const bed = async (): Promise<TestEngine> => {
      calls = []
      return open({ workflows, cancelGrace: "30s" })
    }
    /** A client without a worker; `reopen` starts a worker. */
    const alone = async <T>(engine: TestEngine, work: (client: Engine) => Promise<T>): Promise<T> => {
      await engine.settle()
      await engine.close()
      const client = await Engine.open({ host: engine.host, store: engine.sharedStore, workflows, options: {}, role: "client" })
      try {
        return await work(client)
      } finally {
        await client.close()
      }
    }

    it("a queued one is paused in the call, and does not begin before it is resumed", async () => {
      const engine = await bed()
      await alone(engine, async (client) => {
        const handle = await client.start(plain, { id: "i" })
        expect(await handle.pause("not today")).toMatchObject({ accepted: true, status: "paused" })
        expect(await handle.status()).toBe("paused")
        expect(await handle.pause()).toMatchObject({ accepted: false, reason: "it is paused already" })
      })
      await engine.open()
      await engine.skip("1h")
      expect(calls).toEqual([])
      await engine.get("i").resume()
      await engine.settle()
      expect(await engine.get("i").result()).toBe(1)
      expect(await entriesSeen(engine.get("i"))).toEqual(["run.started", "paused", "resumed", "step.started", "step.completed", "run.completed"])
    })

    it("a queued one is cancelled in the call, and none of its code ever runs", async () => {
      const engine = await bed()
      await alone(engine, async (client) => {
        const handle = await client.start(plain, { id: "i" })
        const answer = await handle.cancel("a mistake")
        expect(answer).toMatchObject({ accepted: true, status: "cancelled" })
        expect(answer.phase).toBeUndefined()
        await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: "a mistake" } })
      })
      await engine.open()
      await engine.skip("1h")
      expect(calls).toEqual([])
      expect((await entriesSeen(engine.get("i"))).slice(0, 3)).toEqual(["run.started", "cancel.requested", "run.cancelled"])
    })

    it("one that sleeps is paused in the call, also when its time has come", async () => {
      const engine = await bed()
      await engine.start(nap, { id: "i" })
      await alone(engine, async (client) => {
        await engine.skip("2h")
        expect(await client.get("i").pause()).toMatchObject({ accepted: true, status: "paused" })
      })
      await engine.open()
      await engine.skip("1h")
      expect(calls).toEqual([])
      await engine.get("i").resume()
      await engine.settle()
      expect(calls).toEqual(["after", "clean up"])
    })

    it("one that sleeps gets its cancel in the call, and the next worker runs only the cancellation", async () => {
      const engine = await bed()
      await engine.start(nap, { id: "i" })
      await alone(engine, async (client) => {
        await engine.skip("2h")
        expect(await client.get("i").cancel("no more")).toMatchObject({ accepted: true, status: "running", phase: "cancelling" })
        expect(await client.get("i").cancel()).toMatchObject({ accepted: false, reason: "it is being cancelled already" })
        expect(await client.get("i").describe()).toMatchObject({ status: "running", phase: "cancelling" })
        expect((await client.get("i").why()).because.join("; ")).toContain("once a worker has loaded it")
      })
      await engine.open()
      await engine.settle()
      expect(calls).toEqual(["clean up"])
      await expect(engine.get("i").result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: "no more" } })
    })

    it("one that waits for a retry gets neither another attempt after a pause nor after a cancel", async () => {
      const engine = await bed()
      for (const id of ["paused", "cancelled"]) await engine.start(flaky, { id })
      await alone(engine, async (client) => {
        await engine.skip("20m")
        expect(await client.get("paused").pause()).toMatchObject({ status: "paused" })
        expect(await client.get("cancelled").cancel()).toMatchObject({ phase: "cancelling" })
      })
      await engine.open()
      await engine.settle()
      expect(calls).toEqual(["attempt 1", "attempt 1"])
      expect(await engine.get("paused").status()).toBe("paused")
      expect(await engine.get("cancelled").status()).toBe("cancelled")
    })

    it("an event that came before a pause waits in its order, and one that came before a cancel changes nothing", async () => {
      const engine = await bed()
      for (const id of ["paused", "cancelled"]) await engine.start(letter, { id })
      await alone(engine, async (client) => {
        for (const id of ["paused", "cancelled"]) await client.get(id).sendEvent("letter", 1)
        expect(await client.get("paused").pause()).toMatchObject({ status: "paused" })
        expect(await client.get("cancelled").cancel()).toMatchObject({ phase: "cancelling" })
        await client.get("paused").sendEvent("letter", 2)
      })
      await engine.open()
      await engine.settle()
      expect(calls).toEqual([])
      expect(await engine.get("cancelled").status()).toBe("cancelled")
      await engine.get("paused").resume()
      await engine.settle()
      expect(await engine.get("paused").result()).toBe(1)
    })

    it("the grace of a cancel counts from when a worker loads the instance, also over a crash", async () => {
      const endless = workflow("endless", async (ctx) => {
        await ctx.sleep("nap", "1d").catch(() => undefined)
        await ctx.do("endless", () => new Promise<never>(() => undefined))
      })
      const engine = await open({ workflows: [endless], cancelGrace: "30s" })
      await engine.start(endless, { id: "i" })
      await alone(engine, async (client) => {
        await client.get("i").cancel()
        await engine.skip("1h")
      })
      await engine.open()
      await engine.skip("20s")
      await engine.crash()
      await engine.skip("9s")
      expect(await engine.get("i").describe()).toMatchObject({ phase: "cancelling" })
      await engine.skip("1s")
      expect(await engine.get("i").status()).toBe("cancelled")
    })

    it("one that is restarted, or forked, is queued until a worker takes it", async () => {
      const engine = await bed()
      await engine.start(plain, { id: "i" })
      await alone(engine, async (client) => {
        expect(await client.get("i").status()).toBe("completed")
        const fork = await client.fork("i", { id: "fork", from: "a" })
        expect(await client.restart("i")).toMatchObject({ accepted: true, status: "queued" })
        expect([await client.get("i").status(), await fork.status()]).toEqual(["queued", "queued"])
        expect((await client.get("i").why()).because.join("; ")).toContain("no worker is running")
      })
      await engine.open()
      await engine.settle()
      expect(await engine.get("i").describe()).toMatchObject({ status: "completed", run: 2 })
      expect(await engine.get("fork").status()).toBe("completed")
    })

    it.each(["pause", "cancel"] as const)("a %s that is still in the inbox is taken in before anything of a loaded instance starts", async (kind) => {
      const engine = await bed()
      await engine.start(nap, { id: "asleep" })
      await engine.start(flaky, { id: "failed-once" })
      await engine.start(letter, { id: "waiting" })
      await alone(engine, async (client) => {
        await client.start(plain, { id: "queued" })
        await engine.skip("2h")
        await client.get("waiting").sendEvent("letter", 1)
        const ids = ["queued", "asleep", "failed-once", "waiting"]
        await client.components.store.directory.deliver(ids.map((instance) => ({ instance, kind, at: engine.now() })))
      })
      await engine.open()
      await engine.settle()
      expect(calls).toEqual(["attempt 1", ...(kind === "cancel" ? ["clean up"] : [])])
      for (const id of ["queued", "asleep", "failed-once", "waiting"]) expect(await engine.get(id).status()).toBe(kind === "cancel" ? "cancelled" : "paused")
    })
  })
}
