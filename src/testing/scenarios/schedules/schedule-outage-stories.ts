import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { TestEngine } from "../../test-engine.ts"
import type { OpenBed } from "../scenario-bed.ts"
import { at, instancesOf } from "./schedule-stories.ts"

export function scheduleOutageStories(open: OpenBed): void {
  const quick = workflow("quick", async (ctx) => ctx.do("work", () => ctx.instance.schedule?.scheduledAt))
  /** Keeps the process dead until this time. */
  const outage = async (engine: TestEngine, until: string) => {
    engine.current.kill()
    await engine.host.advanceTo(at(until), () => Promise.resolve())
    await engine.crash()
  }
  const times = (prefix: string, ...all: string[]) => all.map((time) => `${prefix}:2026-01-01T${time}Z`)

  describe("times that nobody was there to fire", () => {
    it("are on record as missed, except for the latest, if it is not older than an hour", async () => {
      const engine = await open({ workflows: [quick], startAt: at("2026-01-01T00:00:00Z") })
      const often = await engine.schedules.create("often", { workflow: quick, every: "10m" })
      const daily = await engine.schedules.create("daily", { workflow: quick, cron: "30 0 * * *" })
      const soon = await engine.schedules.create("soon", { workflow: quick, cron: "30 1 * * *" })
      await engine.skip("10m")
      await outage(engine, "2026-01-01T02:05:00Z")
      expect(await instancesOf(engine, "often:")).toEqual(times("often", "00:10:00", "02:00:00"))
      expect(await often.describe()).toMatchObject({
        counts: { started: 2, skipped: 0, missed: 10 },
        unfired: [{ outcome: "missed", from: at("2026-01-01T00:20:00Z"), to: at("2026-01-01T01:50:00Z"), count: 10 }],
        lastFiring: { startedAt: at("2026-01-01T02:05:00Z") },
      })
      expect(await daily.describe()).toMatchObject({ counts: { started: 0, missed: 1 }, nextAt: at("2026-01-02T00:30:00Z") })
      expect(await soon.describe()).toMatchObject({ counts: { started: 1, missed: 0 }, lastFiring: { id: "soon:2026-01-01T01:30:00Z" } })
      expect(await engine.get("soon:2026-01-01T01:30:00Z").result()).toBe(at("2026-01-01T01:30:00Z"))
    })

    it("are all fired, oldest first, if they are not older than catchUp", async () => {
      const engine = await open({ workflows: [quick], startAt: at("2026-01-01T00:00:00Z") })
      const handle = await engine.schedules.create("s", { workflow: quick, every: "10m", catchUp: "35m", overlap: "allow" })
      await outage(engine, "2026-01-01T01:05:00Z")
      expect(await instancesOf(engine, "s:")).toEqual(times("s", "00:30:00", "00:40:00", "00:50:00", "01:00:00"))
      const { counts, recent } = await handle.describe()
      expect(counts).toEqual({ started: 4, skipped: 0, missed: 2 })
      expect(recent.map(({ scheduledAt }) => scheduledAt)).toEqual(recent.map(({ scheduledAt }) => scheduledAt).toSorted((a, b) => b - a))
    })

    it("that are caught up follow the overlap policy like any other", async () => {
      const slow = workflow("slow", async (ctx) => ctx.sleep("work", "1m"))
      const engine = await open({ workflows: [slow], startAt: at("2026-01-01T00:00:00Z") })
      for (const overlap of ["skip", "queue"] as const) await engine.schedules.create(overlap, { workflow: slow, every: "10m", catchUp: "1h", overlap })
      await outage(engine, "2026-01-01T00:35:00Z")
      await engine.skip("1m")
      expect(await instancesOf(engine, "skip:")).toEqual(times("skip", "00:10:00"))
      expect(await instancesOf(engine, "queue:")).toEqual(times("queue", "00:10:00", "00:20:00"))
      const counts = await Promise.all(["skip", "queue"].map(async (id) => (await engine.schedules.get(id).describe()).counts))
      expect(counts).toEqual([
        { started: 1, skipped: 2, missed: 0 },
        { started: 2, skipped: 1, missed: 0 },
      ])
    })

    it("are not missed where they are only seconds late, whatever catchUp says", async () => {
      const engine = await open({ workflows: [quick], startAt: at("2026-01-01T00:00:00Z") })
      await engine.schedules.create("s", { workflow: quick, every: "2s", catchUp: 0, overlap: "allow" })
      await outage(engine, "2026-01-01T00:00:15Z")
      expect(await instancesOf(engine, "s:")).toEqual(times("s", "00:00:06", "00:00:08", "00:00:10", "00:00:12", "00:00:14"))
    })

    it("in any number cost little: an interval of a second, and a year", async () => {
      const engine = await open({ workflows: [quick], startAt: at("2026-01-01T00:00:00Z") })
      const handle = await engine.schedules.create("s", { workflow: quick, cron: "* * * * * *", catchUp: "0s", overlap: "allow" })
      await outage(engine, "2027-01-01T00:00:00Z")
      const { counts, nextAt } = await handle.describe()
      expect(counts).toEqual({ started: 11, skipped: 0, missed: 10_000 })
      expect(nextAt).toBe(at("2027-01-01T00:00:01Z"))
    })

    it("wait for a worker that has the workflow", async () => {
      const other = workflow("other", async () => "other")
      const engine = await open({ workflows: [other], startAt: at("2026-01-01T00:00:00Z") })
      const handle = await engine.schedules.create("s", { workflow: quick, every: "10m" })
      await engine.skip("25m")
      expect((await handle.describe()).because).toEqual([
        'it was due at 2026-01-01T00:10:00.000Z, and no worker that has its workflow is running; this engine does not have workflow "quick" either',
      ])
      await engine.crash({ workflows: [quick] })
      expect(await instancesOf(engine, "s:")).toEqual(times("s", "00:20:00"))
    })

    it("are fired once, however often the process dies", async () => {
      const engine = await open({ workflows: [quick], startAt: at("2026-01-01T00:00:00Z") })
      await engine.schedules.create("s", { workflow: quick, every: "1s" })
      for (let crash = 0; crash < 20; crash++) {
        await engine.skip("700ms")
        await engine.crash()
      }
      await engine.skip("1s")
      const all = await instancesOf(engine, "s:")
      expect(all).toHaveLength(15)
      expect(new Set(await Promise.all(all.map((id) => engine.get(id).status())))).toEqual(new Set(["completed"]))
      expect((await engine.schedules.get("s").describe()).counts).toEqual({ started: 15, skipped: 0, missed: 0 })
    })
  })
}
