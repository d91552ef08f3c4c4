import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { PerdureError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { eventSchema } from "../../../dialects/class/event-schema.ts"
import { entriesSeen, type OpenBed } from "../scenario-bed.ts"

const events = { approval: eventSchema<boolean>(), payment: eventSchema<number>() }
const order = workflow("order", { events }, async (ctx) => {
  const approval = await ctx.waitForEvent("approval")
  return [approval, await ctx.waitForEvent("payment")]
})
const free = workflow("free", async (ctx: Context) => ctx.waitForEvent("approval"))

const codeOf = (sending: Promise<unknown>) =>
  sending.then(
    () => "accepted",
    (error: unknown) => (PerdureError.is(error) ? error.code : String(error)),
  )

export function declaredEventStories(open: OpenBed): void {
  describe("declared events", () => {
    it("are the only ones that are taken; others are refused with the nearest name, and leave no trace", async () => {
      const engine = await open({ workflows: [order] })
      const handle = await engine.start(order, { id: "i" })
      await engine.settle()
      const before = await entriesSeen(handle)
      const error: unknown = await engine
        .get("i")
        .sendEvent("aproval", true)
        .catch((refusal: unknown) => refusal)
      expect(error).toMatchObject({
        code: "UNKNOWN_EVENT",
        message: 'instance "i" takes no event "aproval": its workflow "order" declares "approval", "payment"; did you mean "approval"?',
        details: { instance: "i", workflow: "order", event: "aproval", declared: ["approval", "payment"], nearest: "approval" },
      })
      expect(await entriesSeen(handle)).toEqual(before)
      await handle.sendEvent("approval", true)
      await handle.sendEvent("payment", 5)
      expect(await handle.result()).toEqual([true, 5])
    })

    it("are those of the instance, also where it is in no memory, paused or over, and after a crash", async () => {
      const engine = await open({ workflows: [order] })
      const handle = await engine.start(order, { id: "i" })
      const wrong = () => codeOf(engine.get("i").sendEvent("nonsense"))
      await engine.evict("i")
      expect(await wrong()).toBe("UNKNOWN_EVENT")
      await engine.crash()
      expect(await wrong()).toBe("UNKNOWN_EVENT")
      await handle.pause()
      await engine.settle()
      expect(await wrong()).toBe("UNKNOWN_EVENT")
      await engine.evict("i")
      expect(await wrong()).toBe("UNKNOWN_EVENT")
      await handle.resume()
      await handle.restart()
      await engine.settle()
      expect(await wrong()).toBe("UNKNOWN_EVENT")
      await handle.terminate()
      await engine.evict("i")
      expect(await wrong()).toBe("INSTANCE_ENDED")
    })

    it("stay with the instance where the code is gone, and where later code declares less", async () => {
      const engine = await open({ workflows: [order] })
      await engine.start(order, { id: "i" })
      await engine.crash({ workflows: [free] })
      expect(await codeOf(engine.get("i").sendEvent("nonsense"))).toBe("UNKNOWN_EVENT")
      expect(await codeOf(engine.get("i").sendEvent("payment", 1))).toBe("accepted")
      await engine.crash({ workflows: [workflow("order", { events: { approval: events.approval } }, async (ctx) => ctx.waitForEvent("approval"))] })
      expect(await codeOf(engine.get("i").sendEvent("payment", 1))).toBe("accepted")
    })

    it("that code of the same version declares later are taken where that code is", async () => {
      const engine = await open({ workflows: [order] })
      const more = workflow("order", { events: { ...events, refund: eventSchema<number>() } }, async (ctx) => ctx.waitForEvent("approval"))
      await engine.start(order, { id: "i" })
      expect(await codeOf(engine.get("i").sendEvent("refund", 1))).toBe("UNKNOWN_EVENT")
      await engine.crash({ workflows: [more] })
      expect(await codeOf(engine.get("i").sendEvent("refund", 1))).toBe("accepted")
      await engine.evict("i")
      expect(await codeOf(engine.get("i").sendEvent("refund", 2))).toBe("accepted")
      expect(await codeOf(engine.sendOrStart(more, { id: "i", event: "refund", payload: 3 }))).toBe("accepted")
      await engine.settle()
      expect((await engine.get("i").describe()).bufferedEvents).toEqual([{ type: "refund", count: 3 }])
    })

    it("hold for sendOrStart: nothing is started for an event that would be refused", async () => {
      const engine = await open({ workflows: [order] })
      const start = (event: string) => codeOf(engine.sendOrStart("order", { id: "i", event, payload: true, input: undefined }))
      expect(await start("nonsense")).toBe("UNKNOWN_EVENT")
      expect((await engine.list()).instances).toEqual([])
      expect(await start("approval")).toBe("accepted")
      expect(await start("nonsense")).toBe("UNKNOWN_EVENT")
      await engine.sendEvent("i", "payment", 2)
      expect(await engine.get("i").result()).toEqual([true, 2])
    })

    it("hold for children and for forks, and for what a schema is not asked about", async () => {
      const parent = workflow("parent", async (ctx: Context) => {
        const child = await ctx.startChild("order", { id: "child" })
        const refused = await codeOf(child.sendEvent("nonsense"))
        await child.sendEvent("approval", true)
        await child.sendEvent("payment", 1)
        return [refused, await child.result()]
      })
      const engine = await open({ workflows: [order, parent] })
      const handle = await engine.start(parent, { id: "p" })
      expect(await handle.result()).toEqual(["UNKNOWN_EVENT", [true, 1]])
      await engine.get("child").fork({ id: "fork", from: "payment" })
      await engine.settle()
      expect(await codeOf(engine.get("fork").sendEvent("nonsense"))).toBe("UNKNOWN_EVENT")
      await engine.sendEvent("fork", "payment", 2)
      expect(await engine.get("fork").result()).toEqual([true, 2])
    })

    it("may be none at all", async () => {
      const silent = workflow("silent", { events: {} }, async (ctx) => ctx.sleep("nap", "1h"))
      const engine = await open({ workflows: [silent] })
      await engine.start(silent, { id: "i" })
      await expect(engine.get("i").sendEvent("anything")).rejects.toThrow('its workflow "silent" declares no events')
    })

    it("without a declaration any event is taken, and one that nothing waits for is shown", async () => {
      const engine = await open({ workflows: [free] })
      const handle = await engine.start(free, { id: "i" })
      await engine.sendEvent("i", "aproval", true)
      expect((await handle.why()).because).toContain('1 event "aproval" is buffered, and nothing waits for it')
      for (const n of [2, 3]) await engine.sendEvent("i", "aproval", n)
      await engine.sendEvent("i", "other")
      expect((await handle.why()).because.slice(-2)).toEqual([
        '3 events "aproval" are buffered, and nothing waits for them',
        '1 event "other" is buffered, and nothing waits for it',
      ])
      expect((await handle.describe()).bufferedEvents).toEqual([
        { type: "aproval", count: 3 },
        { type: "other", count: 1 },
      ])
      await engine.sendEvent("i", "approval", true)
      expect(await handle.result()).toBe(true)
      expect((await handle.describe()).bufferedEvents).toHaveLength(2)
    })
  })
}
