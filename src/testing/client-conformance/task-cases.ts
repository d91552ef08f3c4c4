import { describe, expect, it } from "vitest"
import type { CurrentClient } from "./client-bed.ts"
import { richValue, supplying } from "./sample-workflows.ts"

const offer = { worker: "press-1", activities: ["supply"], wait: "10s" } as const

export function taskCases(client: CurrentClient): void {
  describe("tasks", () => {
    const claimed = async () => {
      const [task] = await client().tasks.claim("far", offer)
      if (task === undefined) throw new Error("no task came")
      return task
    }

    it("are claimed, kept and completed", async () => {
      expect(await client().tasks.claim("far", { ...offer, wait: 0 })).toEqual([])
      // The claim waits, and gets the task that comes later.
      const coming = claimed()
      const handle = await client().start(supplying, { id: "s" })
      const task = await coming
      expect(task).toMatchObject({ activity: "supply", queue: "far", attempt: 1, instance: "s", step: "supply", timeoutMs: 60_000, heartbeatTimeoutMs: 20_000 })
      expect(task.input).toStrictEqual(richValue)
      expect(task).not.toHaveProperty("lastHeartbeat")
      expect(task.leaseMs).toBeGreaterThan(0)
      expect(await client().queues()).toEqual([{ queue: "far", waiting: 0, claimed: 1, workers: [{ worker: "press-1", activities: ["supply"] }] }])
      await client().tasks.heartbeat(task, { details: richValue })
      await client().tasks.heartbeat(task, { renew: true })
      await client().tasks.complete(task, richValue)
      expect(await handle.result()).toStrictEqual(richValue)
      expect(await handle.steps()).toMatchObject([{ id: "supply", type: "activity", queue: "far", attempts: 1, result: expect.anything() as unknown }])
    })

    it("are tried again with the last heartbeat, and a claim that is over changes nothing", async () => {
      const handle = await client().start(supplying, { id: "s" })
      const first = await claimed()
      await client().tasks.heartbeat(first, { details: { done: 3 } })
      await client().tasks.fail(first, new RangeError("not yet"))
      const second = await claimed()
      expect(second).toMatchObject({ attempt: 2, lastHeartbeat: { done: 3 }, idempotencyKey: first.idempotencyKey })
      const { tasks } = client()
      const stale = [{ ...second, token: "another" }, first, { id: "none", token: "none" }]
      for (const task of stale)
        for (const call of [() => tasks.heartbeat(task), () => tasks.complete(task, 1), () => tasks.fail(task, "late")])
          await expect(call()).rejects.toMatchObject({ code: "STALE_TASK" })
      await tasks.complete(second)
      await expect(tasks.complete(second, "again")).rejects.toMatchObject({ code: "STALE_TASK" })
      expect(await handle.result()).toBeUndefined()
    })

    it("fail at once with an error that no other attempt can help", async () => {
      const handle = await client().start(supplying, { id: "s" })
      await client().tasks.fail(await claimed(), Object.assign(new TypeError("no stock"), { left: 0n }), { retryable: false })
      await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { name: "TypeError", message: "no stock", left: 0n } })
    })

    it("are not claimed by a caller that has gone away", async () => {
      const controller = new AbortController()
      const waiting = client().tasks.claim("far", { ...offer, wait: "1m", signal: controller.signal })
      controller.abort()
      expect(await waiting).toEqual([])
      const handle = await client().start(supplying, { id: "s" })
      await client().tasks.complete(await claimed(), "done")
      expect(await handle.result()).toBe("done")
    })
  })
}
