import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"
import { at, instancesOf } from "./schedule-stories.ts"

export function scheduleControlStories(open: OpenBed): void {
  const echo = workflow("echo", async (_ctx: Context, input: string) => input)
  const slow = workflow("slow", async (ctx) => ctx.sleep("work", "5m"))
  const times = (prefix: string, ...all: string[]) => all.map((time) => `${prefix}:2026-01-01T${time}Z`)
  const opened = async () => {
    const engine = await open({ workflows: [echo, slow], startAt: at("2026-01-01T00:00:00Z") })
    const handle = await engine.schedules.create("s", { workflow: echo, input: "first", every: "10m" })
    return { engine, handle }
  }

  describe("a schedule's controls", () => {
    it("pause stops firing, and times that passed meanwhile are not caught up on resume", async () => {
      const { engine, handle } = await opened()
      await engine.skip("10m")
      expect(await handle.pause("holidays")).toEqual({ id: "s", accepted: true })
      expect(await handle.pause()).toEqual({ id: "s", accepted: false, reason: "it is paused already" })
      await engine.skip("25m")
      await engine.crash()
      expect(await handle.describe()).toMatchObject({
        status: "paused",
        paused: { at: at("2026-01-01T00:10:00Z"), reason: "holidays" },
        nextTimes: [],
        because: ["it is paused: holidays; resume it"],
      })
      expect(await handle.resume()).toEqual({ id: "s", accepted: true })
      expect(await handle.resume()).toEqual({ id: "s", accepted: false, reason: "it is not paused" })
      await engine.skip("10m")
      expect(await instancesOf(engine, "s:")).toEqual(times("s", "00:10:00", "00:40:00"))
      expect((await handle.describe()).counts).toEqual({ started: 2, skipped: 0, missed: 0 })
    })

    it("a time that waits when the schedule is paused starts after the resume", async () => {
      const { engine } = await opened()
      const handle = await engine.schedules.create("q", { workflow: slow, every: "4m", overlap: "queue" })
      await engine.skip("8m")
      await handle.pause()
      await engine.skip("12m")
      expect(await instancesOf(engine, "q:")).toEqual(times("q", "00:04:00"))
      await handle.resume()
      await engine.settle()
      expect(await instancesOf(engine, "q:")).toEqual(times("q", "00:04:00", "00:08:00"))
    })

    it("one that is created paused fires when it is resumed", async () => {
      const { engine } = await opened()
      const handle = await engine.schedules.create("p", { workflow: echo, input: "x", every: "10m", paused: true })
      await engine.skip("20m")
      expect(await instancesOf(engine, "p:")).toEqual([])
      await handle.resume()
      await engine.skip("10m")
      expect(await instancesOf(engine, "p:")).toEqual(times("p", "00:30:00"))
    })

    it("trigger starts one now, with an input of its own if it is given one, also while paused", async () => {
      const { engine, handle } = await opened()
      await handle.pause()
      await engine.skip("3m")
      const [one, two] = [await handle.trigger(), await handle.trigger({ input: "mine" })]
      expect([one.id, two.id]).toEqual(times("s", "00:03:00", "00:03:00.001"))
      expect([await one.result(), await two.result()]).toEqual(["first", "mine"])
      expect(await handle.describe()).toMatchObject({ counts: { started: 2 }, lastFiring: { by: "trigger" }, status: "paused" })
    })

    it("triggered from many sides at once, each starts one", async () => {
      const { handle } = await opened()
      const handles = await Promise.all(Array.from({ length: 20 }, () => handle.trigger()))
      expect(new Set(handles.map(({ id }) => id)).size).toBe(20)
      expect((await handle.describe()).counts.started).toBe(20)
    })

    it("update changes what is said, and leaves the rest", async () => {
      const { engine, handle } = await opened()
      await engine.skip("10m")
      await handle.update({ input: "second", timeout: "1h", tags: ["t"] })
      await engine.skip("10m")
      await handle.update({ cron: "*/3 * * * *", timeZone: "Asia/Kolkata", timeout: null })
      await engine.skip("5m")
      expect(await instancesOf(engine, "s:")).toEqual(times("s", "00:10:00", "00:20:00", "00:21:00", "00:24:00"))
      expect(await engine.get("s:2026-01-01T00:20:00Z").result()).toBe("second")
      const description = await handle.describe()
      expect(description).toMatchObject({ times: "*/3 * * * * in Asia/Kolkata", input: "second", tags: ["t"], overlap: "skip", counts: { started: 4 } })
      expect(description).not.toHaveProperty("timeoutMs")
      expect(description).not.toHaveProperty("everyMs")
    })

    it("declared again at every deploy changes only what is said otherwise", async () => {
      const { engine, handle } = await opened()
      await engine.skip("10m")
      await handle.pause()
      const before = await handle.describe()
      const declare = (input: string) => engine.schedules.create("s", { workflow: echo, input, every: "10m", ifExists: "update" })
      await declare("first")
      expect(await handle.describe()).toEqual(before)
      await declare("other")
      expect(await handle.describe()).toMatchObject({ input: "other", status: "paused", counts: { started: 1 } })
      await engine.schedules.create("s", { workflow: echo, input: "other", every: "20m", paused: false, ifExists: "update" })
      expect(await handle.describe()).toMatchObject({ status: "active", nextAt: at("2026-01-01T00:20:00Z"), everyMs: 1_200_000 })
    })

    it("declared again from many sides at once is there once", async () => {
      const { engine } = await opened()
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => engine.schedules.create("d", { workflow: echo, input: `${index}`, every: "10m", ifExists: "update" })),
      )
      await engine.skip("10m")
      expect(await instancesOf(engine, "d:")).toEqual(times("d", "00:10:00"))
    })

    it("backfill fires times of the past, one after another, and leaves out what exists", async () => {
      const { engine } = await opened()
      const handle = await engine.schedules.create("b", { workflow: slow, every: "10m" })
      await engine.skip("10m")
      const window = { from: at("2025-12-31T23:50:00Z"), to: at("2026-01-01T00:10:00Z") }
      expect(await handle.backfill(window)).toEqual([
        { id: "b:2025-12-31T23:50:00Z", scheduledAt: at("2025-12-31T23:50:00Z"), outcome: "queued" },
        { id: "b:2026-01-01T00:00:00Z", scheduledAt: at("2026-01-01T00:00:00Z"), outcome: "queued" },
        { id: "b:2026-01-01T00:10:00Z", scheduledAt: at("2026-01-01T00:10:00Z"), outcome: "exists" },
      ])
      await engine.settle()
      expect(await instancesOf(engine, "b:")).toHaveLength(1)
      await engine.crash()
      await engine.skip("5m")
      expect(await instancesOf(engine, "b:")).toHaveLength(2)
      await engine.skip("10m")
      expect(await instancesOf(engine, "b:")).toEqual(["b:2025-12-31T23:50:00Z", ...times("b", "00:00:00", "00:10:00")])
      expect((await handle.backfill(window)).map(({ outcome }) => outcome)).toEqual(["exists", "exists", "exists"])
    })

    it("backfill starts all at once where that is asked for, or the schedule allows it", async () => {
      const { engine, handle } = await opened()
      await engine.schedules.create("a", { workflow: slow, every: "1m", overlap: "allow" })
      const window = { from: at("2025-12-31T23:30:00Z"), to: at("2025-12-31T23:59:00Z") }
      const started = await engine.schedules.get("a").backfill(window)
      expect(started.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 30 }, () => "started"))
      expect((await handle.backfill({ ...window, overlap: "allow" })).map(({ id }) => id)).toEqual(
        ["30", "40", "50"].map((minute) => `s:2025-12-31T23:${minute}:00Z`),
      )
      await engine.settle()
      expect(await engine.count({ idPrefix: "a:" }, "status")).toEqual({ sleeping: 30 })
      expect(await engine.count({ idPrefix: "s:" }, "status")).toEqual({ completed: 3 })
      expect((await handle.describe()).recent.map(({ by }) => by)).toEqual(["backfill", "backfill", "backfill"])
    })

    it("delete lets its instances be, and its id can be used again", async () => {
      const { engine, handle } = await opened()
      await engine.skip("10m")
      await handle.delete()
      await engine.skip("1h")
      expect(await instancesOf(engine, "s:")).toEqual(times("s", "00:10:00"))
      await expect(handle.describe()).rejects.toMatchObject({ code: "SCHEDULE_NOT_FOUND", details: { schedule: "s" } })
      await engine.schedules.create("s", { workflow: echo, input: "again", every: "30m" })
      expect(await handle.describe()).toMatchObject({ counts: { started: 0 }, input: "again" })
    })

    it("list gives them by id, page by page, also of one workflow", async () => {
      const { engine } = await opened()
      for (const id of ["c", "a", "b"]) await engine.schedules.create(id, { workflow: slow, cron: "@daily" })
      const first = await engine.schedules.list({ limit: 3 })
      expect(first.schedules.map(({ id }) => id)).toEqual(["a", "b", "c"])
      const second = await engine.schedules.list({ limit: 3, ...(first.cursor === undefined ? undefined : { cursor: first.cursor }) })
      expect(second.schedules).toMatchObject([{ id: "s", workflow: "echo", times: "every 10 minutes", status: "active", nextAt: at("2026-01-01T00:10:00Z") }])
      expect(second.cursor).toBeUndefined()
      const ofSlow = await engine.schedules.list({ workflow: "slow", limit: 2 })
      expect(ofSlow).toMatchObject({ schedules: [{ id: "a" }, { id: "b" }], cursor: "b" })
    })
  })
}
