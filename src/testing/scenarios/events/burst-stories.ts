import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"

/** More messages than a worker reads of an inbox at once, and more than one turn consumes. */
const count = 400

const numbers = Array.from({ length: count }, (_, index) => index)

export function burstStories(open: OpenBed): void {
  const taker = workflow("taker", async (ctx: Context) => {
    const taken: unknown[] = []
    while (taken.length < count) taken.push(await ctx.waitForEvent("number"))
    return taken
  })

  describe("a burst of events to one instance", () => {
    it("comes in the order in which it was sent, each event once", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i" })
      await engine.settle()
      await Promise.all(numbers.map((number) => handle.sendEvent("number", number)))
      await engine.settle()
      expect(await handle.result()).toEqual(numbers)
    })

    it("that was acknowledged comes so after a crash, too", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i" })
      await engine.settle()
      await Promise.all(numbers.map((number) => handle.sendEvent("number", number)))
      await engine.crash()
      await engine.settle()
      expect(await handle.result()).toEqual(numbers)
    })

    it("does not hide a resume that is sent after it", async () => {
      const engine = await open({ workflows: [taker] })
      const handle = await engine.start(taker, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      await Promise.all(numbers.map((number) => handle.sendEvent("number", number)))
      expect(await handle.resume()).toMatchObject({ accepted: true })
      await engine.settle()
      expect(await handle.result()).toEqual(numbers)
    })

    it("comes before the timeout of a wait that is due when it has been sent", async () => {
      const patient = workflow("patient", async (ctx: Context) => {
        for (const number of numbers.slice(1)) await ctx.waitForEvent(`before-${number}`)
        return ctx.waitForEvent("last", { timeout: "1h", default: "too late" })
      })
      const engine = await open({ workflows: [patient] })
      const handle = await engine.start(patient, { id: "i" })
      await engine.settle()
      const others = numbers.slice(1).map((number) => handle.sendEvent(`before-${number}`))
      await Promise.all([...others, handle.sendEvent("last", "in time")])
      await engine.skip("1h")
      expect(await handle.result()).toBe("in time")
    })
  })
}
