import { describe, expect, it } from "vitest"
import type { CurrentClient } from "./client-bed.ts"
import { echo, limited, richValue } from "./sample-workflows.ts"

export function scheduleCases(client: CurrentClient): void {
  const { schedules } = { schedules: () => client().schedules }

  describe("schedules", () => {
    it("are created, described, listed and deleted", async () => {
      const startAt = new Date(4_000_000_000_000)
      const handle = await schedules().create("daily", { workflow: echo, cron: "0 2 * * *", timeZone: "Europe/Berlin", input: richValue, tags: ["t"], startAt })
      expect(handle.id).toBe("daily")
      await schedules().create("often", { workflow: "echo", every: "5m", paused: true })
      const description = await handle.describe()
      expect(description).toMatchObject({
        id: "daily",
        workflow: "echo",
        cron: "0 2 * * *",
        timeZone: "Europe/Berlin",
        overlap: "skip",
        status: "active",
        tags: ["t"],
        startAt: startAt.getTime(),
      })
      expect(description.input).toStrictEqual(richValue)
      expect(description.nextTimes).toHaveLength(5)
      const first = await schedules().list({ limit: 1 })
      expect(first.schedules).toMatchObject([{ id: "daily", workflow: "echo" }])
      const second = await schedules().list({ limit: 1, cursor: first.cursor ?? "", workflow: "echo" })
      expect(second.schedules).toMatchObject([{ id: "often", status: "paused" }])
      await expect(schedules().create("daily", { workflow: echo, every: "1h", input: 1 })).rejects.toMatchObject({ code: "SCHEDULE_EXISTS" })
      await schedules().create("daily", { workflow: echo, every: "1h", input: 1, ifExists: "update" })
      expect(await handle.describe()).toMatchObject({ everyMs: 3_600_000, input: 1 })
      await handle.delete()
      await expect(schedules().get("daily").describe()).rejects.toMatchObject({ code: "SCHEDULE_NOT_FOUND" })
      await expect(schedules().create("bad", { workflow: echo, cron: "nonsense", input: 1 })).rejects.toMatchObject({ code: "BAD_SCHEDULE" })
    })

    it("take options whose fields come from a class", async () => {
      class Changes {
        readonly every = "1h"
        get input() {
          return "of a getter"
        }
      }
      class Options extends Changes {
        readonly workflow = echo
      }
      const handle = await schedules().create("inherited", new Options())
      expect((await handle.describe()).input).toBe("of a getter")
      await handle.update({ every: "2h", input: 0 })
      await handle.update(new Changes())
      expect(await handle.describe()).toMatchObject({ everyMs: 3_600_000, input: "of a getter" })
    })

    it("are changed, paused, resumed, triggered and backfilled", async () => {
      const handle = await schedules().create("often", { workflow: echo, every: "1h", input: 1, catchUp: "2h" })
      await handle.update({ every: "30m", catchUp: null, input: 2 })
      expect(await handle.describe()).toMatchObject({ everyMs: 1_800_000, input: 2 })
      expect(await handle.describe()).not.toHaveProperty("catchUpMs")
      expect(await handle.pause("a look")).toEqual({ id: "often", accepted: true })
      expect(await handle.pause()).toMatchObject({ accepted: false, reason: expect.any(String) as string })
      expect(await handle.describe()).toMatchObject({ status: "paused", paused: { reason: "a look" } })
      expect(await (await handle.trigger()).result()).toBe(2)
      expect(await (await schedules().get(echo, "often").trigger({ input: richValue })).result()).toStrictEqual(richValue)
      expect(await handle.resume()).toEqual({ id: "often", accepted: true })
      const from = new Date(1_700_000_000_000 - (1_700_000_000_000 % 1_800_000))
      const firings = await handle.backfill({ from, to: new Date(from.getTime() + 3_600_000), overlap: "allow" })
      expect(firings.map(({ scheduledAt, outcome }) => [scheduledAt - from.getTime(), outcome])).toEqual([
        [0, "started"],
        [1_800_000, "started"],
        [3_600_000, "started"],
      ])
      expect(
        await client()
          .get(firings[0]?.id ?? "")
          .result(),
      ).toBe(2)
    })
  })

  describe("limits", () => {
    it("are read, set and reset", async () => {
      const wide = { name: "wide", limit: 9 }
      expect(await client().limits.get(limited)).toEqual({ concurrency: [{ limit: 3 }, wide] })
      await client().limits.set(limited, { concurrency: Infinity })
      expect(await client().limits.get("limited")).toEqual({ concurrency: [{ limit: Infinity, declared: 3 }, wide] })
      await client().limits.set("limited", { concurrency: [0] })
      await client().limits.set("limited", { concurrency: { wide: Infinity, other: undefined } })
      expect(await client().limits.get("limited")).toEqual({
        concurrency: [
          { limit: 0, declared: 3 },
          { name: "wide", limit: Infinity, declared: 9 },
        ],
      })
      await expect(client().limits.set("limited", { concurrency: { other: 1 } })).rejects.toMatchObject({ code: "UNKNOWN_LIMIT" })
      await client().limits.reset(limited)
      expect(await client().limits.get("limited")).toEqual({ concurrency: [{ limit: 3 }, wide] })
      await expect(client().limits.set("echo", { concurrency: 1 })).rejects.toMatchObject({ code: "UNKNOWN_LIMIT" })
    })
  })
}
