import { expect, it } from "vitest"
import { silentLogger } from "../../hosts/silent-logger.ts"
import type { ObjectTables, ObjectInstanceSummary } from "../../ports/cloudflare/object-tables.ts"
import { ObjectAlarm } from "./object-alarm.ts"
import { ObjectHost } from "./object-host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

const hourMs = 3_600_000

/** An object whose instance sleeps, on a platform whose alarm can be set. */
function open() {
  const platform = { now: 1_800_000_000_000, alarms: [] as (number | Date)[] }
  const asleep = { id: "i", incarnation: "x", status: "sleeping", isOwned: false, hasMessages: false, dueAt: undefined, claimableAt: platform.now + hourMs }
  const storage: Partial<ObjectStorage> = {
    setAlarm: async (at) => void platform.alarms.push(at),
    deleteAlarm: async () => undefined,
    sync: async () => undefined,
  }
  const tables: Partial<ObjectTables> = { isThere: () => true, summary: () => asleep as unknown as ObjectInstanceSummary, refusalsExpireAt: () => undefined }
  const host = new ObjectHost(storage as ObjectStorage, silentLogger, () => platform.now)
  const alarm = new ObjectAlarm(storage as ObjectStorage, tables as ObjectTables, host, () => undefined)
  return { platform, asleep, host, alarm }
}

it("the alarm is set by the alarm of the platform, also after that was set back", () => {
  const { platform, asleep, host, alarm } = open()
  alarm.update()
  expect(platform.alarms).toEqual([asleep.claimableAt])
  alarm.update()
  expect(platform.alarms).toHaveLength(1)
  platform.now -= 60_000
  expect(host.aheadMs()).toBe(60_000)
  alarm.update()
  expect(platform.alarms.slice(1)).toEqual([asleep.claimableAt - 60_000])
  alarm.update()
  expect(platform.alarms).toHaveLength(2)
})

it("the watchdog alarm is set by the clock of the platform, too", () => {
  const { platform, host, alarm } = open()
  host.now()
  platform.now -= 60_000
  alarm.armWatchdog()
  expect(platform.alarms).toEqual([platform.now + 10_000])
})
