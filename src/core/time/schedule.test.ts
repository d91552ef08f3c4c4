import { describe, expect, it } from "vitest"
import { checkId } from "../workflow/input-limits.ts"
import {
  decodeSchedule,
  dueAfterChange,
  dueTimes,
  encodeSchedule,
  instanceIdOf,
  isScheduledId,
  nextDue,
  type Schedule,
  timeSuffixLength,
  withMissed,
  withSkipped,
  withStarted,
} from "./schedule.ts"

const hour = 3_600_000
const hourly: Schedule = { recurrence: { every: hour }, overlap: "skip", waiting: [], running: [], counts: { started: 0, skipped: 0, missed: 0 }, log: [] }

describe("the id of a scheduled instance", () => {
  it("is that of the schedule and the time, readable and unique", () => {
    expect(instanceIdOf("nightly", Date.parse("2026-11-15T02:00:00Z"))).toBe("nightly:2026-11-15T02:00:00Z")
    expect(instanceIdOf("n", Date.parse("2026-11-15T02:00:00.050Z"))).toBe("n:2026-11-15T02:00:00.050Z")
    expect(instanceIdOf("n", 0)).toBe("n:1970-01-01T00:00:00Z")
  })

  it("is recognised, also if the schedule is called like one", () => {
    expect(isScheduledId(instanceIdOf("a", 1))).toBe(true)
    expect(isScheduledId(instanceIdOf(instanceIdOf("a", 1), 2))).toBe(true)
    for (const id of ["a", "a:b", "a:2026-11-15", "2026-11-15T02:00:00Z", "a:2026-11-15T02:00:00Z:b"]) expect(isScheduledId(id)).toBe(false)
  })

  it("fits an id for every time that a schedule can have", () => {
    const last = nextDue({ ...hourly, recurrence: { every: 1 } }, Date.parse("9999-12-31T23:59:59.998Z"))!
    expect(nextDue({ ...hourly, recurrence: { every: 1 } }, last)).toBeUndefined()
    const id = instanceIdOf("x".repeat(256 - timeSuffixLength), last)
    expect(id).toHaveLength(256)
    checkId(id)
  })
})

describe("due times", () => {
  it("lie between the begin and the end, both included", () => {
    const bounded = { ...hourly, startAt: 2 * hour, endAt: 4 * hour }
    expect(dueTimes(bounded, 0, 10 * hour, 10)).toEqual([2 * hour, 3 * hour, 4 * hour])
    expect([nextDue(bounded, 0), nextDue(bounded, 3 * hour), nextDue(bounded, 4 * hour)]).toEqual([2 * hour, 4 * hour, undefined])
    expect(dueTimes(bounded, 3 * hour, 3 * hour, 10)).toEqual([3 * hour])
  })

  it("that were not decided on are not lost by a change, unless the times are others", () => {
    const later = { ...hourly, endAt: 10 * hour }
    const others: Schedule = { ...hourly, recurrence: { every: 2 * hour } }
    expect(dueAfterChange(hourly, hour, later, 3 * hour)).toBe(hour)
    expect(dueAfterChange(hourly, 4 * hour, later, 3 * hour)).toBe(4 * hour)
    expect(dueAfterChange(hourly, hour, others, 3 * hour)).toBe(4 * hour)
    expect(dueAfterChange(hourly, undefined, later, 3 * hour)).toBe(4 * hour)
    expect(dueAfterChange(hourly, hour, { ...later, paused: { at: 0 } }, 3 * hour)).toBeUndefined()
  })
})

describe("the log", () => {
  it("keeps stretches of one outcome together, and the last fifty records", () => {
    let schedule = withSkipped(withSkipped(hourly, 1, "running"), 2, "running")
    schedule = withMissed(withSkipped(schedule, 3, "exists"), 4, 9, 6)
    schedule = withMissed(schedule, 10, 11, 2)
    expect(schedule.counts).toEqual({ started: 0, skipped: 3, missed: 8 })
    expect(schedule.log).toEqual([
      { outcome: "skipped", because: "running", from: 1, to: 2, count: 2 },
      { outcome: "skipped", because: "exists", from: 3, to: 3, count: 1 },
      { outcome: "missed", from: 4, to: 11, count: 8 },
    ])
    for (let at = 20; at < 220; at++) schedule = withStarted(schedule, "s", at, at + 1)
    expect(schedule.log).toHaveLength(50)
    expect(schedule.log.at(-1)).toEqual({ outcome: "started", at: 219, startedAt: 220 })
    expect([schedule.running.length, schedule.running.at(-1)]).toEqual([100, instanceIdOf("s", 219)])
    expect(schedule.counts.started).toBe(200)
    expect(decodeSchedule(encodeSchedule(schedule))).toEqual(schedule)
  })
})
