import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import type { Overlap } from "../../../core/time/schedule.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"
import { at, instancesOf } from "./schedule-stories.ts"

export function scheduleOverlapStories(open: OpenBed): void {
  const cleaned: string[] = []
  /** Runs as long as its input says, and five more minutes after a cancel. */
  const slow = workflow("slow", async (ctx: Context, minutes: number) => {
    try {
      await ctx.sleep("work", minutes * 60_000)
    } catch (error) {
      await ctx.do("clean up", ({ signal }) => new Promise<void>((resolve) => (signal.aborted ? resolve() : cleaned.push(ctx.instance.id) && resolve())))
      throw error
    }
  })
  const scheduled = async (overlap: Overlap, minutes: number) => {
    const engine = await open({ workflows: [slow], startAt: at("2026-01-01T00:00:00Z") })
    const handle = await engine.schedules.create("s", { workflow: slow, input: minutes, every: "10m", overlap })
    const statuses = async () => {
      const { instances } = await engine.list({ idPrefix: "s:", order: "oldest" })
      return instances
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, status, createdAt }) => `${id.slice(13, 18)} ${status} since ${new Date(createdAt).toISOString().slice(11, 16)}`)
    }
    return { engine, handle, statuses }
  }

  describe("a time that comes while an instance of the schedule is not over", () => {
    it("is skipped with `skip`, which is the default, and counted with the reason", async () => {
      const { engine, handle, statuses } = await scheduled("skip", 25)
      await engine.skip("50m")
      expect(await statuses()).toEqual(["00:10 completed since 00:10", "00:40 sleeping since 00:40"])
      const { counts, unfired, waiting } = await handle.describe()
      expect(counts).toEqual({ started: 2, skipped: 3, missed: 0 })
      const reason = "an instance of the schedule was not over"
      expect(unfired).toEqual([
        { outcome: "skipped", from: at("2026-01-01T00:50:00Z"), to: at("2026-01-01T00:50:00Z"), count: 1, reason },
        { outcome: "skipped", from: at("2026-01-01T00:20:00Z"), to: at("2026-01-01T00:30:00Z"), count: 2, reason },
      ])
      expect(waiting).toEqual([])
      expect((await (await engine.schedules.create("default", { workflow: slow, input: 1, every: "1h" })).describe()).overlap).toBe("skip")
    })

    it("is skipped also while that instance is paused", async () => {
      const { engine, statuses } = await scheduled("skip", 1)
      await engine.skip("10m")
      await engine.get("s:2026-01-01T00:10:00Z").pause()
      await engine.skip("20m")
      expect(await statuses()).toEqual(["00:10 paused since 00:10"])
      await engine.get("s:2026-01-01T00:10:00Z").resume()
      await engine.skip("10m")
      expect(await statuses()).toEqual(["00:10 completed since 00:10", "00:40 sleeping since 00:40"])
    })

    it("waits with `queue`, starts under its own time when that one is over, and others that come meanwhile are skipped", async () => {
      const { engine, handle, statuses } = await scheduled("queue", 25)
      await engine.skip("34m")
      expect(await statuses()).toEqual(["00:10 sleeping since 00:10"])
      const before = await handle.describe()
      expect(before.waiting).toEqual([at("2026-01-01T00:20:00Z")])
      expect(before.because).toEqual(['a time waits for instance "s:2026-01-01T00:10:00Z" to end, which is sleeping'])
      await engine.skip("1m")
      expect(await statuses()).toEqual(["00:10 completed since 00:10", "00:20 sleeping since 00:35"])
      const after = await handle.describe()
      expect(after).toMatchObject({ waiting: [], counts: { started: 2, skipped: 1, missed: 0 }, because: [] })
      expect(after.unfired).toMatchObject([{ from: at("2026-01-01T00:30:00Z"), reason: "another time was waiting already" }])
      expect(after.lastFiring).toMatchObject({ scheduledAt: at("2026-01-01T00:20:00Z"), startedAt: at("2026-01-01T00:35:00Z") })
    })

    it("cancels that one with `cancel-previous`, and starts when it is over", async () => {
      const { engine, handle, statuses } = await scheduled("cancel-previous", 25)
      await engine.skip("20m")
      expect(await statuses()).toEqual(["00:10 cancelled since 00:10", "00:20 sleeping since 00:20"])
      expect(cleaned).toContain("s:2026-01-01T00:10:00Z")
      await expect(engine.get("s:2026-01-01T00:10:00Z").result()).rejects.toMatchObject({ code: "CANCELLED", details: { reason: 'schedule "s" is due again' } })
      expect((await handle.describe()).counts).toEqual({ started: 2, skipped: 0, missed: 0 })
    })

    it("takes the place of one that waits with `cancel-previous`: the latest starts", async () => {
      const stubborn = workflow("stubborn", async (ctx) => {
        await ctx.waitForEvent("never").catch(() => undefined)
        await ctx.do("clean up", () => new Promise<never>(() => undefined))
      })
      const engine = await open({ workflows: [stubborn], cancelGrace: "25m", startAt: at("2026-01-01T00:00:00Z") })
      const handle = await engine.schedules.create("s", { workflow: stubborn, every: "10m", overlap: "cancel-previous" })
      await engine.skip("44m")
      expect(await instancesOf(engine, "s:")).toEqual(["s:2026-01-01T00:10:00Z"])
      expect((await handle.describe()).waiting).toEqual([at("2026-01-01T00:40:00Z")])
      await engine.skip("2m")
      expect(await instancesOf(engine, "s:")).toEqual(["s:2026-01-01T00:10:00Z", "s:2026-01-01T00:40:00Z"])
      const { counts, unfired } = await handle.describe()
      expect(counts).toEqual({ started: 2, skipped: 2, missed: 0 })
      expect(unfired).toMatchObject([{ count: 2, reason: "a later time came while it waited" }])
    })

    it("starts all the same with `allow`", async () => {
      const { engine, statuses } = await scheduled("allow", 25)
      await engine.skip("30m")
      expect(await statuses()).toEqual(["00:10 sleeping since 00:10", "00:20 sleeping since 00:20", "00:30 sleeping since 00:30"])
    })

    it("that waits is not lost by a crash, nor when that instance ends while nobody is there", async () => {
      const { engine, statuses } = await scheduled("queue", 25)
      await engine.skip("20m")
      await engine.crash()
      await engine.skip("4m")
      engine.current.kill()
      await engine.host.advanceTo(at("2026-01-01T00:36:00Z"), () => Promise.resolve())
      await engine.crash()
      await engine.settle()
      expect(await statuses()).toEqual(["00:10 completed since 00:10", "00:20 sleeping since 00:36"])
    })

    it("that waits starts when that instance is terminated, or deleted", async () => {
      const { engine, statuses } = await scheduled("queue", 60)
      await engine.skip("20m")
      await engine.get("s:2026-01-01T00:10:00Z").terminate()
      await engine.settle()
      expect(await statuses()).toEqual(["00:10 terminated since 00:10", "00:20 sleeping since 00:20"])
    })

    it("counts instances that were triggered, too", async () => {
      const { engine, handle, statuses } = await scheduled("queue", 15)
      await engine.skip("9m")
      await handle.trigger()
      await engine.skip("1m")
      expect(await statuses()).toEqual(["00:09 sleeping since 00:09"])
      await engine.skip("14m")
      expect(await statuses()).toEqual(["00:09 completed since 00:09", "00:10 sleeping since 00:24"])
    })
  })
}
