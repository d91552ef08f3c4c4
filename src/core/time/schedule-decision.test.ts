import { describe, expect, it } from "vitest"
import { decide, type Situation } from "./schedule-decision.ts"
import { instanceIdOf, type Overlap, type Schedule } from "./schedule.ts"

const minute = 60_000
const id = (at: number) => instanceIdOf("s", at)
const schedule = (more: Partial<Schedule> = {}): Schedule => ({
  recurrence: { every: minute },
  overlap: "skip",
  waiting: [],
  running: [],
  counts: { started: 0, skipped: 0, missed: 0 },
  log: [],
  ...more,
})
const situation = (more: Partial<Situation> = {}): Situation => ({ id: "s", now: 10 * minute, dueAt: 10 * minute, live: [], taken: new Map(), ...more })

describe("a decision about a due time", () => {
  it("starts it, and goes on to the next", () => {
    const decision = decide(schedule(), situation({ now: 10 * minute + 5 }))
    expect(decision).toMatchObject({ start: 10 * minute, dueAt: 11 * minute, awaits: undefined, ended: [] })
    expect(decision.schedule).toMatchObject({ running: [id(10 * minute)], log: [{ outcome: "started", at: 10 * minute, startedAt: 10 * minute + 5 }] })
  })

  it("starts it only if what ran before is over when that is written", () => {
    const decision = decide(schedule({ running: [id(1), id(2)] }), situation())
    expect(decision).toMatchObject({ start: 10 * minute, ended: [id(1), id(2)] })
    expect(decision.schedule.running).toEqual([id(10 * minute)])
  })

  it.each<[Overlap, Partial<Schedule>, object]>([
    ["skip", {}, { awaits: undefined, live: [id(1)], schedule: { counts: { skipped: 1 }, waiting: [] } }],
    ["queue", {}, { awaits: id(1), live: [id(1)], schedule: { counts: { skipped: 0 }, waiting: [10 * minute] } }],
    ["queue", { waiting: [9] }, { awaits: id(1), live: [id(1)], schedule: { counts: { skipped: 1 }, waiting: [9] } }],
    ["cancel-previous", {}, { awaits: id(1), live: [id(1)], cancels: [id(1), id(2)], schedule: { waiting: [10 * minute] } }],
    ["cancel-previous", { waiting: [8, 9] }, { cancels: [id(1), id(2)], schedule: { counts: { skipped: 2 }, waiting: [10 * minute] } }],
  ])("with `%s` while something runs, and %j", (overlap, more, expected) => {
    const running = [id(1), id(2)]
    const decision = decide(schedule({ overlap, running, ...more }), situation({ live: running }))
    expect(decision).toMatchObject({ dueAt: 11 * minute, ...expected })
    expect(decision.start).toBeUndefined()
  })

  it("with `allow` asks nothing of what runs", () => {
    const decision = decide(schedule({ overlap: "allow", running: [id(1)] }), situation())
    expect(decision).toMatchObject({ start: 10 * minute, schedule: { running: [id(1), id(10 * minute)] } })
    expect([decision.ended, decision.live]).toEqual([undefined, undefined])
  })

  it("skips one whose instance exists", () => {
    const decision = decide(schedule(), situation({ taken: new Map([[10 * minute, "exists"]]) }))
    expect(decision).toMatchObject({ dueAt: 11 * minute, schedule: { running: [], log: [{ outcome: "skipped", because: "exists" }] } })
    expect(decision.start).toBeUndefined()
  })

  it("lets nothing happen while paused", () => {
    const paused = schedule({ paused: { at: 5 }, waiting: [1] })
    expect(decide(paused, situation())).toEqual({ schedule: paused, dueAt: undefined, awaits: undefined })
  })
})

describe("a decision about a time that waits", () => {
  it("comes before one that is due, and starts it under its own time", () => {
    const decision = decide(schedule({ overlap: "queue", waiting: [5, 6], running: [id(1)] }), situation())
    expect(decision).toMatchObject({ start: 5, dueAt: 10 * minute, awaits: id(5), ended: [id(1)], schedule: { waiting: [6], running: [id(5)] } })
  })

  it("waits for the next of several that run", () => {
    const decision = decide(schedule({ waiting: [5], running: [id(1), id(2)] }), situation({ dueAt: 99 * minute, live: [id(2)] }))
    expect(decision).toMatchObject({ awaits: id(2), dueAt: 99 * minute, schedule: { waiting: [5], running: [id(2)] } })
    expect(decision.start).toBeUndefined()
  })
})

describe("times that are late", () => {
  const late = (more: Partial<Schedule>, now: number) => {
    const { start, dueAt, schedule: after } = decide(schedule(more), situation({ now }))
    return { start: start === undefined ? undefined : start / minute, dueAt: dueAt! / minute, missed: after.counts.missed, log: after.log }
  }

  it("without a window: only the latest is fired, if it is not older than an hour", () => {
    expect(late({}, 15.5 * minute)).toMatchObject({ start: 15, dueAt: 16, missed: 5, log: [{ from: 10 * minute, to: 14 * minute }, { outcome: "started" }] })
    const rare = { recurrence: { every: 5 * 60 * minute, anchor: 10 * minute } }
    expect(late(rare, 70 * minute)).toMatchObject({ start: 10, dueAt: 310, missed: 0 })
    expect(late(rare, 70 * minute + 1)).toMatchObject({
      start: undefined,
      dueAt: 310,
      missed: 1,
      log: [{ outcome: "missed", from: 10 * minute, to: 10 * minute }],
    })
  })

  it("with a window: the first in it is fired, and the others follow", () => {
    expect(late({ catchUpMs: 3 * minute }, 15.5 * minute)).toMatchObject({ start: 13, dueAt: 14, missed: 3 })
    expect(late({ catchUpMs: 60 * minute }, 15.5 * minute)).toMatchObject({ start: 10, dueAt: 11, missed: 0 })
    expect(late({ catchUpMs: 0 }, 15.5 * minute)).toMatchObject({ start: undefined, dueAt: 16, missed: 6 })
  })

  it("by no more than ten seconds are not late, whatever the window", () => {
    expect(late({ catchUpMs: 0 }, 10 * minute + 10_000)).toMatchObject({ start: 10, missed: 0 })
    expect(late({ catchUpMs: 0 }, 10 * minute + 10_001)).toMatchObject({ start: undefined, missed: 1 })
  })

  it("in any number are counted up to a bound", () => {
    const { missed, log } = late({ recurrence: { every: 1 }, catchUpMs: 0 }, 10 * minute + 1e12)
    expect(missed).toBe(10_000)
    expect(log[0]).toMatchObject({ from: 10 * minute, to: 10 * minute + 1e12 - 10_001 })
  })

  it("in an hour that has many are told from one that has none", () => {
    const dense = { recurrence: { cron: "* * 0 * * *" }, overlap: "allow" } as const
    const at = Date.parse("2026-01-01T01:00:30Z")
    const decision = decide(schedule(dense), situation({ now: at, dueAt: Date.parse("2026-01-01T00:00:00Z") }))
    expect(decision).toMatchObject({ start: Date.parse("2026-01-01T00:59:59Z"), dueAt: Date.parse("2026-01-02T00:00:00Z") })
    expect(decision.schedule.counts.missed).toBe(3_599)
  })
})
