import { describe, expect, it } from "vitest"
import { defineActivity } from "../../../core/workflow/activity.ts"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"

/** What `why` says about activities that wait or run. */
export function taskWhyStories(open: OpenBed): void {
  describe("why, of an activity", () => {
    const offer = { worker: "press-1", activities: ["reserve"] }
    const order = workflow("order", (ctx: Context, options: object) =>
      Promise.all(
        [1, 2].map(() => ctx.activity("reserve", { taskQueue: "warehouse", retry: { maxAttempts: 2, initialInterval: "1m", jitter: 0 }, ...options })),
      ),
    )
    const begin = async (options: object = {}) => {
      const engine = await open({ workflows: [order], startAt: new Date("2030-01-01T00:00:00Z") })
      const handle = await engine.start(order, { id: "o", input: options })
      await engine.settle()
      const { tasks } = engine.current
      return { engine, tasks, because: async () => (await handle.why()).because }
    }

    it("waits on a queue that nobody serves, and fails if that stays so", async () => {
      const { because } = await begin()
      expect(await because()).toEqual([
        'activity "reserve" waits on queue "warehouse", which nobody serves',
        'activity "reserve#2" waits on queue "warehouse", which nobody serves',
      ])
      const limited = await begin({ scheduleToStartTimeout: "1h" })
      await limited.engine.skip("10m")
      expect((await limited.because())[0]).toBe('activity "reserve" waits on queue "warehouse", which nobody serves; it fails in 50m if no worker takes it')
    })

    it("the workers of its queue do not have it, or it waits with others", async () => {
      const { engine, tasks, because } = await begin()
      await tasks.claim("warehouse", { ...offer, activities: ["pack"] })
      await engine.skip("2s")
      expect((await because())[0]).toBe('activity "reserve" waits on queue "warehouse", whose workers do not have it; start one that has activity "reserve"')
      const [task] = await tasks.claim("warehouse", offer)
      await engine.skip("3s")
      await tasks.fail(task!, "broken")
      await engine.settle()
      expect(await because()).toEqual([
        'activity "reserve#2" waits on queue "warehouse", for 5s',
        'activity "reserve" failed (attempt 1: broken) and waits until 2030-01-01T00:01:05.000Z, 1m from now to try again',
      ])
      await engine.skip("2m")
      expect((await because())[0]).toBe('activity "reserve" waits on queue "warehouse", where 1 more wait, for 1m')
    })

    it("runs on a worker: names the worker, and its last heartbeat", async () => {
      const { engine, tasks, because } = await begin()
      const [first, second] = await tasks.claim("warehouse", { ...offer, max: 2 })
      await engine.skip("4s")
      await tasks.heartbeat(first!)
      await tasks.heartbeat(second!, { renew: true })
      await engine.skip("3s")
      expect(await because()).toEqual(['activity "reserve" runs on press-1, last heartbeat 3s ago', 'activity "reserve#2" runs on press-1, begun 7s ago'])
    })

    it("runs where its workflow runs, like a step", async () => {
      const never = new Gate()
      const near = workflow("near", (ctx: Context) => ctx.activity("work"))
      const engine = await open({ workflows: [near], activities: [defineActivity("work", () => never.passed)] })
      const handle = await engine.start(near, { id: "n" })
      await engine.settle()
      expect((await handle.why()).because).toEqual([expect.stringMatching(/^activity "work" is running, attempt 1, since /)])
    })
  })
}
