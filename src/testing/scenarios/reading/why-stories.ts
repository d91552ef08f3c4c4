import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"

export function whyStories(open: OpenBed): void {
  const gate = new Gate()
  const flow = workflow("flow", async (ctx: Context, input: string) => {
    if (input === "run") await ctx.do("work", () => gate.passed)
    if (input === "sleep") await ctx.sleep("nap", "1h")
    if (input === "wait") await ctx.waitForEvent("approval", { type: "answer" })
    if (input === "wait a while") await ctx.waitForEvent("approval", { type: "answer", timeout: "2h", default: 0 })
    if (input === "retry") await ctx.do("flaky", () => Promise.reject(new Error("no network")), { retry: { initialInterval: "1m", jitter: 0 } })
    if (input === "nest") await ctx.do("outer", ({ step }) => step.sleep("inside", "1h"))
    if (input === "foreign") await new Promise<never>(() => undefined)
  })

  const started = async (input: string, options: { delay?: "1h"; timeout?: "1h" } = {}) => {
    const engine = await open({ workflows: [flow], startAt: new Date("2030-01-01T00:00:00Z") })
    const handle = await engine.start(flow, { id: "i", input, ...options })
    await engine.settle()
    return { engine, handle }
  }

  const at = (time: string) => Date.parse(`2030-01-01T${time}Z`)

  describe("why", () => {
    it("the instance is over", async () => {
      const { handle } = await started("")
      expect(await handle.why()).toEqual({ status: "completed", because: ["it is over: completed at 2030-01-01T00:00:00.000Z"] })
    })

    it("the start of the instance is delayed", async () => {
      const { handle } = await started("", { delay: "1h" })
      expect(await handle.why()).toEqual({
        status: "queued",
        because: ["it starts at 2030-01-01T01:00:00.000Z, 1h from now"],
        next: { what: "it starts", at: at("01:00:00") },
      })
    })

    it("a step runs", async () => {
      const { engine, handle } = await started("run")
      const { workerName: worker } = engine.current.components.worker
      expect(await handle.why()).toEqual({
        status: "running",
        because: [`step "work" is running, attempt 1, since 2030-01-01T00:00:00.000Z, on worker "${worker}", whose lease lasts until 2030-12-31T00:00:00.000Z`],
      })
    })

    it("the instance sleeps", async () => {
      const { engine, handle } = await started("sleep")
      await engine.skip("10m")
      expect(await handle.why()).toEqual({
        status: "sleeping",
        because: ['sleep "nap" lasts until 2030-01-01T01:00:00.000Z, 50m from now'],
        next: { what: '"nap" wakes up', at: at("01:00:00") },
      })
    })

    it("the instance waits for an event, for ever or for a while", async () => {
      expect(await (await started("wait")).handle.why()).toEqual({
        status: "waiting",
        because: ['wait "approval" is for event "answer" since 2030-01-01T00:00:00.000Z'],
      })
      const why = await (await started("wait a while")).handle.why()
      expect(why.because).toEqual(['wait "approval" is for event "answer" since 2030-01-01T00:00:00.000Z, at most until 2030-01-01T02:00:00.000Z, 2h from now'])
      expect(why.next).toEqual({ what: '"approval" times out', at: at("02:00:00") })
    })

    it("a step failed and waits to be tried again", async () => {
      const { handle } = await started("retry")
      expect(await handle.why()).toEqual({
        status: "sleeping",
        because: ['step "flaky" failed (attempt 1: no network) and waits until 2030-01-01T00:01:00.000Z, 1m from now to try again'],
        next: { what: '"flaky" is tried again', at: at("00:01:00") },
      })
    })

    it("a sleep inside a step", async () => {
      const { handle } = await started("nest")
      const why = await handle.why()
      expect(why.status).toBe("sleeping")
      expect(why.because[0]).toBe('sleep "outer/inside" lasts until 2030-01-01T01:00:00.000Z, 1h from now')
    })

    it("the instance is paused, or pausing", async () => {
      const { engine, handle } = await started("sleep")
      await handle.pause()
      await engine.settle()
      const why = await handle.why()
      expect(why.because[0]).toBe("it is paused since 2030-01-01T00:00:00.000Z; resume it")
      expect(why.because[1]).toContain('sleep "nap" lasts until')
      expect(why.next).toBeUndefined()
      await handle.resume()
      await engine.skip("1m")
      await handle.pause("asked for by the bank, until Monday")
      await engine.crash()
      expect((await handle.why()).because[0]).toBe("it is paused since 2030-01-01T00:01:00.000Z (asked for by the bank, until Monday); resume it")
      const running = await started("run")
      await running.handle.pause("lunch")
      await running.engine.settle()
      const { because } = await running.handle.why()
      expect(because[0]).toBe("it is pausing since 2030-01-01T00:00:00.000Z (lunch): attempts that were running may finish")
      expect(because[1]).toContain('step "work" is running')
    })

    it("the instance is being cancelled", async () => {
      const { engine, handle } = await started("run")
      await handle.cancel("not needed")
      await engine.settle()
      const why = await handle.why()
      expect(why.because[0]).toBe(
        "it is being cancelled since 2030-01-01T00:00:00.000Z (not needed), and may clean up until 2030-01-01T00:00:30.000Z, 30s from now",
      )
      expect(why.next).toEqual({ what: "its cancel is forced", at: at("00:00:30") })
    })

    it("the timeout of the instance comes next", async () => {
      const { handle } = await started("wait", { timeout: "1h" })
      expect((await handle.why()).next).toEqual({ what: "its timeout cancels it", at: at("01:00:00") })
      const running = await started("run", { timeout: "1h" })
      await running.engine.skip("1h")
      expect((await running.handle.why()).because[0]).toContain("it is being cancelled since 2030-01-01T01:00:00.000Z (its timeout)")
    })

    it("the instance is stalled", async () => {
      const { engine, handle } = await started("foreign")
      expect((await handle.why()).because).toEqual(["its code is running between steps"])
      await engine.skip("5s")
      const why = await handle.why()
      expect(why.status).toBe("stalled")
      expect(why.because[0]).toContain("it is stalled since 2030-01-01T00:00:05.000Z: the code waits for something that does not come from ctx")
    })

    it("no worker has its version", async () => {
      const { engine, handle } = await started("sleep")
      await engine.crash({ workflows: [] })
      expect((await handle.why()).because[0]).toBe('no worker here has version "1" of workflow "flow" (it has none of this workflow)')
    })

    it("there is no such instance", async () => {
      const { engine } = await started("")
      await expect(engine.get("nobody").why()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })
  })
}
