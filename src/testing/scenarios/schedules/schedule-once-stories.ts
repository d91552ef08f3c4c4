import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"

interface Job {
  readonly key: string
}

const startAt = Date.UTC(2026, 0, 1, 0, 30)

export function scheduleOnceStories(open: OpenBed): void {
  const only = workflow("only", { singleton: { key: (input) => input.key } }, (ctx: Context<{ go: number }>, _input: Job) => ctx.waitForEvent("go"))

  describe("a schedule of a workflow of which there may be only one", () => {
    it("skips its time while another is not over, whoever started it, and says why", async () => {
      const engine = await open({ workflows: [only], startAt })
      const schedule = await engine.schedules.create("hourly", { workflow: only, input: { key: "a" }, every: "1h", overlap: "allow" })
      await engine.start(only, { id: "by-hand", input: { key: "a" } })
      await engine.start(only, { id: "other-key", input: { key: "b" } })
      await engine.skip("2h")
      expect(await schedule.describe()).toMatchObject({
        counts: { started: 0, skipped: 2 },
        unfired: [{ outcome: "skipped", count: 2, reason: "another instance of the workflow, which may have only one, was not over" }],
      })
      await engine.sendEvent("by-hand", "go", 1)
      await engine.skip("2h")
      const { counts, recent } = await schedule.describe()
      expect([counts, recent.map(({ id, status }) => [id, status])]).toEqual([
        { started: 1, skipped: 3, missed: 0 },
        [["hourly:2026-01-01T03:00:00Z", "waiting"]],
      ])
      await expect(engine.start(only, { input: { key: "a" } })).rejects.toMatchObject({
        code: "SINGLETON_EXISTS",
        details: { instance: "hourly:2026-01-01T03:00:00Z" },
      })
    })

    it("also skips one that waited for an instance of its own", async () => {
      const engine = await open({ workflows: [only], startAt })
      const schedule = await engine.schedules.create("hourly", { workflow: only, input: { key: "a" }, every: "1h", overlap: "queue" })
      await engine.skip("2h")
      expect(await schedule.describe()).toMatchObject({ counts: { started: 1 }, waiting: [Date.UTC(2026, 0, 1, 2)] })
      await engine.sendEvent("hourly:2026-01-01T01:00:00Z", "go", 1)
      expect(await schedule.describe()).toMatchObject({ counts: { started: 2, skipped: 0 }, waiting: [] })
    })

    it("refuses a trigger and a backfill of all at once while there is one, and backfills one after another", async () => {
      const engine = await open({ workflows: [only], startAt })
      const schedule = await engine.schedules.create("hourly", { workflow: only, input: { key: "a" }, every: "1h", overlap: "allow" })
      await engine.skip("3h")
      await expect(schedule.trigger()).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "hourly:2026-01-01T01:00:00Z" } })
      await engine.settle()
      const other = await schedule.trigger({ input: { key: "b" } })
      await engine.settle()
      expect(await other.status()).toBe("waiting")
      const stretch = { from: "2025-12-31T20:00:00Z", to: "2025-12-31T22:00:00Z" }
      await expect(schedule.backfill({ ...stretch, overlap: "allow" })).rejects.toMatchObject({ code: "BAD_OPTION" })
      expect((await schedule.backfill(stretch)).map(({ outcome }) => outcome)).toEqual(["queued", "queued", "queued"])
      await other.terminate()
      await engine.sendEvent("hourly:2026-01-01T01:00:00Z", "go", 1)
      expect((await schedule.describe()).waiting).toHaveLength(2)
      expect(await engine.get("hourly:2025-12-31T20:00:00Z").status()).toBe("waiting")
    })

    it("keeps its limits beside, and there is one of all that are due at the same moment, also after a crash", async () => {
      const limited = workflow("limited", { singleton: true, concurrency: 5 }, (ctx: Context<{ go: number }>) => ctx.waitForEvent("go"))
      const engine = await open({ workflows: [limited], startAt })
      const ids = ["a", "b", "c"]
      for (const id of ids) await engine.schedules.create(id, { workflow: limited, every: "1h" })
      await engine.skip("30m")
      await engine.crash()
      await engine.skip("1h")
      const { instances } = await engine.list({ workflow: "limited" })
      expect(instances.map(({ id, status }) => [id.slice(1), status])).toEqual([[":2026-01-01T01:00:00Z", "waiting"]])
      const counts = await Promise.all(ids.map(async (id) => (await engine.schedules.get(id).describe()).counts))
      expect(counts.map(({ started }) => started).toSorted((a, b) => a - b)).toEqual([0, 0, 1])
      expect(counts.map(({ started, skipped }) => started + skipped)).toEqual([2, 2, 2])
      expect(engine.current.components.worker.isResident(instances[0]!.id)).toBe(false)
    })
  })

  it("a schedule of a debounced workflow is refused: its times say when it starts", async () => {
    const quiet = workflow("quiet", { debounce: { quiet: "10s" } }, async () => 1)
    const engine = await open({ workflows: [quiet, only], startAt })
    await expect(engine.schedules.create("s", { workflow: quiet, every: "1h" })).rejects.toMatchObject({
      code: "BAD_OPTION",
      message: expect.stringContaining('workflow "quiet" is debounced, so a schedule cannot start it') as string,
    })
    await expect(engine.schedules.create("s", { workflow: only, input: { key: "" }, every: "1h" })).rejects.toMatchObject({ code: "BAD_LIMIT_KEY" })
  })
}
