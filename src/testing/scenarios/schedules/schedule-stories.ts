import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { TestEngine } from "../../test-engine.ts"
import type { OpenBed } from "../scenario-bed.ts"

/** The ids of all instances, oldest first. */
export async function instancesOf(engine: TestEngine, idPrefix: string): Promise<readonly string[]> {
  const { instances } = await engine.list({ idPrefix, limit: 1_000, order: "oldest" })
  return instances.map(({ id }) => id).toSorted()
}

export const at = (time: string): number => Date.parse(time)

export function scheduleStories(open: OpenBed): void {
  const report = workflow("report", async (ctx: Context, input: { region: string }) => {
    await ctx.do("write", () => input.region)
    return { ...ctx.instance.schedule, region: input.region, now: ctx.now() }
  })
  const input = { region: "north" }

  describe("a schedule", () => {
    it("starts one instance at each of its times, which knows what it was started for", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-01-01T00:00:00Z") })
      await engine.schedules.create("nightly", { workflow: report, input, cron: "0 2 * * *" })
      await engine.skip("3d")
      expect(await instancesOf(engine, "nightly:")).toEqual(["nightly:2026-01-01T02:00:00Z", "nightly:2026-01-02T02:00:00Z", "nightly:2026-01-03T02:00:00Z"])
      const scheduledAt = at("2026-01-02T02:00:00Z")
      const second = engine.get(report, "nightly:2026-01-02T02:00:00Z")
      expect(await second.result()).toEqual({ id: "nightly", scheduledAt, region: "north", now: scheduledAt })
      expect((await second.describe()).input).toEqual(input)
      await second.restart()
      expect(await second.result()).toMatchObject({ id: "nightly", scheduledAt })
    })

    it("starts instances that are kept as long as their workflow says", async () => {
      const kept = workflow("kept", { retention: { completed: "7d" } }, () => Promise.resolve("done"))
      const engine = await open({ workflows: [kept], startAt: at("2026-01-01T00:00:00Z") })
      await engine.schedules.create("nightly", { workflow: kept, cron: "0 2 * * *" })
      await engine.skip("1d")
      expect((await engine.get("nightly:2026-01-01T02:00:00Z").describe()).retention).toEqual({ completed: 7 * 86_400_000 })
    })

    it("of an interval fires at multiples of it, or counted from startAt, with milliseconds in the id only where there are some", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-01-01T00:07:00Z") })
      await engine.schedules.create("quarters", { workflow: report, input, every: "15m" })
      await engine.schedules.create("from", { workflow: report, input, every: "15m", startAt: new Date("2026-01-01T00:20:00.500Z") })
      await engine.skip("43m")
      expect(await instancesOf(engine, "quarters:")).toEqual(["00:15:00", "00:30:00", "00:45:00"].map((time) => `quarters:2026-01-01T${time}Z`))
      expect(await instancesOf(engine, "from:")).toEqual(["00:20:00.500", "00:35:00.500"].map((time) => `from:2026-01-01T${time}Z`))
    })

    it("in Berlin fires once a day at half past two, also on the days when there is none, or two", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-03-28T00:00:00Z") })
      await engine.schedules.create("daily", { workflow: report, input, cron: "30 2 * * *", timeZone: "Europe/Berlin" })
      await engine.skip("3d")
      expect(await instancesOf(engine, "daily:2026-03")).toEqual(["28T01:30:00", "29T01:00:00", "30T00:30:00"].map((time) => `daily:2026-03-${time}Z`))
      await engine.skip(at("2026-10-24T00:00:00Z") - engine.now())
      await engine.skip("3d")
      expect(await instancesOf(engine, "daily:2026-10-2")).toEqual(
        ["20T00:30:00", "21T00:30:00", "22T00:30:00", "23T00:30:00", "24T00:30:00", "25T00:30:00", "26T01:30:00"].map((time) => `daily:2026-10-${time}Z`),
      )
    })

    it("in New York goes on hourly when the clocks are set, and daily work is done once", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-11-01T04:30:00Z") })
      const zone = { timeZone: "America/New_York" }
      await engine.schedules.create("hourly", { workflow: report, input, cron: "0 * * * *", ...zone })
      await engine.schedules.create("daily", { workflow: report, input, cron: "30 1 * * *", ...zone })
      await engine.skip("4h")
      expect(await instancesOf(engine, "hourly:")).toEqual(["05", "06", "07", "08"].map((hour) => `hourly:2026-11-01T${hour}:00:00Z`))
      expect(await instancesOf(engine, "daily:")).toEqual(["daily:2026-11-01T05:30:00Z"])
      const spring = at("2027-03-14T05:30:00Z")
      await engine.schedules.get("hourly").delete()
      await engine.skip(spring - engine.now())
      await engine.schedules.create("hourly", { workflow: report, input, cron: "0 * * * *", ...zone })
      await engine.skip("3h")
      expect(await instancesOf(engine, "hourly:2027")).toEqual(["06", "07", "08"].map((hour) => `hourly:2027-03-14T${hour}:00:00Z`))
      expect(await instancesOf(engine, "daily:2027-03-14")).toEqual(["daily:2027-03-14T06:30:00Z"])
    })

    it("fires every time of a week that is skipped at once, each at its own time", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-01-05T00:00:00Z") })
      await engine.schedules.create("hourly", { workflow: report, input, every: "1h" })
      await engine.skip("1w")
      const { instances } = await engine.list({ idPrefix: "hourly:", limit: 1_000 })
      expect(instances).toHaveLength(168)
      for (const { id, createdAt, status } of instances) expect([createdAt, status]).toEqual([at(id.slice("hourly:".length)), "completed"])
      expect((await engine.schedules.get("hourly").describe()).counts).toEqual({ started: 168, skipped: 0, missed: 0 })
    })

    it("has no times before startAt and after endAt, and says when none is left", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-01-01T00:00:00Z") })
      const times = { startAt: "2026-01-01T03:00:00Z", endAt: "2026-01-01T05:00:00Z" }
      const handle = await engine.schedules.create("some", { workflow: report, input, cron: "0 * * * *", ...times })
      expect((await handle.describe()).nextTimes.map((time) => new Date(time).getUTCHours())).toEqual([3, 4, 5])
      await engine.skip("1d")
      expect(await instancesOf(engine, "some:")).toEqual(["03", "04", "05"].map((hour) => `some:2026-01-01T${hour}:00:00Z`))
      expect(await handle.describe()).toMatchObject({ status: "ended", nextTimes: [], because: ["no time is left"] })
    })

    it("starts the version that was registered last when it fires, with its tags and its timeout", async () => {
      const flow = (version: string) => workflow("flow", { version }, async (ctx) => ctx.waitForEvent("never"))
      const engine = await open({ workflows: [flow("1")], startAt: at("2026-01-01T00:00:00Z") })
      await engine.schedules.create("s", { workflow: "flow", every: "1h", tags: ["hourly"], timeout: "10m" })
      await engine.skip("1h")
      await engine.crash({ workflows: [flow("1"), flow("2")] })
      await engine.skip("1h")
      const { instances } = await engine.list({ tag: "hourly", order: "oldest" })
      expect(instances.map(({ version, status }) => [version, status])).toEqual([
        ["1", "failed"],
        ["2", "waiting"],
      ])
      await engine.skip("10m")
      await expect(engine.get("s:2026-01-01T02:00:00Z").result()).rejects.toMatchObject({ code: "INSTANCE_TIMEOUT" })
    })

    it("describes itself: what it is, its next times, and what became of the last ones", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-01-01T00:00:00Z") })
      const handle = await engine.schedules.create("nightly", { workflow: report, input, cron: "0 2 * * *", timeZone: "Europe/Berlin", catchUp: "1h" })
      await engine.skip("2d")
      expect(await handle.describe()).toEqual({
        id: "nightly",
        workflow: "report",
        input,
        times: "0 2 * * * in Europe/Berlin",
        cron: "0 2 * * *",
        timeZone: "Europe/Berlin",
        overlap: "skip",
        catchUpMs: 3_600_000,
        tags: [],
        status: "active",
        createdAt: at("2026-01-01T00:00:00Z"),
        updatedAt: at("2026-01-02T01:00:00Z"),
        nextAt: at("2026-01-03T01:00:00Z"),
        nextTimes: ["03", "04", "05", "06", "07"].map((day) => at(`2026-01-${day}T01:00:00Z`)),
        lastFiring: {
          id: "nightly:2026-01-02T01:00:00Z",
          scheduledAt: at("2026-01-02T01:00:00Z"),
          startedAt: at("2026-01-02T01:00:00Z"),
          status: "completed",
        },
        recent: ["02", "01"].map((day) => ({
          id: `nightly:2026-01-${day}T01:00:00Z`,
          scheduledAt: at(`2026-01-${day}T01:00:00Z`),
          startedAt: at(`2026-01-${day}T01:00:00Z`),
          status: "completed",
        })),
        waiting: [],
        counts: { started: 2, skipped: 0, missed: 0 },
        unfired: [],
        because: [],
      })
    })

    it("skips a time whose instance somebody has started by hand, and says so", async () => {
      const engine = await open({ workflows: [report], startAt: at("2026-01-01T00:00:00Z") })
      const handle = await engine.schedules.create("s", { workflow: report, input, every: "1h" })
      await engine.start(report, { id: "s:2026-01-01T02:00:00Z", input: { region: "by hand" } })
      await engine.skip("3h")
      expect((await engine.get("s:2026-01-01T02:00:00Z").describe()).input).toEqual({ region: "by hand" })
      const { counts, unfired } = await handle.describe()
      expect(counts).toEqual({ started: 2, skipped: 1, missed: 0 })
      expect(unfired).toEqual([
        { outcome: "skipped", from: at("2026-01-01T02:00:00Z"), to: at("2026-01-01T02:00:00Z"), count: 1, reason: "its instance existed already" },
      ])
    })

    it("keeps inputs of any size and type", async () => {
      const echo = workflow("echo", async (_ctx: Context, value: unknown) => value)
      const engine = await open({ workflows: [echo], startAt: at("2026-01-01T00:00:00Z") })
      const big = { text: "é\u{1F600}\0".repeat(400_000), at: new Date(5), map: new Map([[1n, new Set(["x"])]]) }
      await engine.schedules.create("big", { workflow: echo, input: big, every: "1h" })
      await engine.schedules.create("none", { workflow: echo, every: "1h" })
      await engine.crash()
      await engine.skip("1h")
      expect(await engine.get("big:2026-01-01T01:00:00Z").result()).toEqual(big)
      expect(await engine.get("none:2026-01-01T01:00:00Z").result()).toBeUndefined()
    })
  })
}
