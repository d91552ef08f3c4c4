// Expressions against a reading of them that goes minute by minute and knows time zones through Intl's dates alone. It shares
// nothing with the modules: every field of a random expression comes with its own predicate.

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { nextTime, timesBetween } from "./recurrence.ts"

const minute = 60_000
const day = 1440 * minute

interface Field {
  readonly text: string
  readonly has: (value: number) => boolean
  readonly isWild: boolean
}

interface DayField {
  readonly text: string
  readonly has: (wall: Date) => boolean
  readonly isWild: boolean
}

const star = (text = "*"): Field => ({ text, has: () => true, isWild: true })

function field(min: number, max: number): fc.Arbitrary<Field> {
  const value = fc.integer({ min, max })
  const step = fc.integer({ min: 1, max: max - min })
  const range = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
  return fc.oneof(
    fc.constantFrom(star(), star("?")),
    step.map((n) => ({ text: `*/${n}`, has: (v: number) => (v - min) % n === 0, isWild: true })),
    fc.uniqueArray(value, { minLength: 1, maxLength: 4 }).map((list) => ({ text: list.join(","), has: (v: number) => list.includes(v), isWild: false })),
    range.map(([a, b]) => ({ text: `${a}-${b}`, has: (v: number) => v >= a && v <= b, isWild: false })),
    fc.tuple(range, step).map(([[a, b], n]) => ({ text: `${a}-${b}/${n}`, has: (v: number) => v >= a && v <= b && (v - a) % n === 0, isWild: false })),
  )
}

const later = (wall: Date, days: number) => new Date(wall.getTime() + days * day)
const isLastDay = (wall: Date) => later(wall, 1).getUTCDate() === 1

/** Of the days of the month, the weekdays nearest to the date, by trying them out. */
function isNearestWeekday(wall: Date, date: number): boolean {
  const monthOf = (on: Date) => on.getUTCMonth()
  const isWork = (on: Date) => on.getUTCDay() % 6 !== 0
  const target = later(wall, date - wall.getUTCDate())
  if (monthOf(target) !== monthOf(wall)) return false
  const near = [0, -1, 1, -2, 2].map((days) => later(target, days)).find((on) => monthOf(on) === monthOf(target) && isWork(on))
  return near?.getUTCDate() === wall.getUTCDate()
}

const dates: fc.Arbitrary<DayField> = fc.oneof(
  { weight: 3, arbitrary: field(1, 31).map((one) => ({ ...one, has: (wall: Date) => one.has(wall.getUTCDate()) })) },
  fc.constant({ text: "L", has: isLastDay, isWild: false }),
  fc.integer({ min: 1, max: 31 }).map((date) => ({ text: `${date}W`, has: (wall: Date) => isNearestWeekday(wall, date), isWild: false })),
)

const weekdayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
const weekday = fc.integer({ min: 0, max: 6 })
const weekdays: fc.Arbitrary<DayField> = fc.oneof(
  { weight: 3, arbitrary: field(0, 6).map((one) => ({ ...one, has: (wall: Date) => one.has(wall.getUTCDay()) })) },
  weekday.map((on) => ({
    text: `${weekdayNames[on] ?? ""}L`,
    has: (wall: Date) => wall.getUTCDay() === on && later(wall, 7).getUTCMonth() !== wall.getUTCMonth(),
    isWild: false,
  })),
  fc.tuple(weekday, fc.integer({ min: 1, max: 5 })).map(([on, nth]) => ({
    text: `${weekdayNames[on] ?? ""}#${nth}`,
    has: (wall: Date) => wall.getUTCDay() === on && Math.ceil(wall.getUTCDate() / 7) === nth,
    isWild: false,
  })),
)

interface Expression {
  readonly cron: string
  readonly hasWildHour: boolean
  /** Whether the expression names a wall time, in milliseconds as if it were UTC. */
  readonly names: (wall: number) => boolean
}

const anyDay = { text: "*", has: () => true, isWild: true }

function expression(months: fc.Arbitrary<Field>): fc.Arbitrary<Expression> {
  const days = fc.oneof(
    fc.constant([anyDay, anyDay] as const),
    fc.tuple(dates, fc.constant(anyDay)),
    fc.tuple(fc.constant(anyDay), weekdays),
    fc.tuple(dates, weekdays),
  )
  return fc.tuple(field(0, 59), field(0, 23), days, months).map(([minutes, hours, [date, onWeekday], month]) => ({
    cron: [minutes.text, hours.text, date.text, month.text, onWeekday.text].join(" "),
    hasWildHour: hours.isWild,
    names: (wall) => {
      const on = new Date(wall)
      if (!minutes.has(on.getUTCMinutes()) || !hours.has(on.getUTCHours()) || !month.has(on.getUTCMonth() + 1)) return false
      return date.isWild || onWeekday.isWild ? date.has(on) && onWeekday.has(on) : date.has(on) || onWeekday.has(on)
    },
  }))
}

/** What the clocks show in each minute of some days, the first of them a minute before `start`. */
function clock(timeZone: string, start: number, days: number): number[] {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", dateStyle: "short", timeStyle: "short", calendar: "gregory" })
  return Array.from({ length: days * 1440 + 2 }, (_, i) => {
    const [month = 0, date = 0, year = 0, hours = 0, minutes = 0] = (format.format(start + (i - 1) * minute).match(/\d+/g) ?? []).map(Number)
    return Date.UTC(2000 + year, month - 1, date, hours, minutes)
  })
}

function readMinuteByMinute({ names, hasWildHour }: Expression, start: number, walls: readonly number[]): number[] {
  const fired: number[] = []
  let latest = walls[0] ?? NaN
  for (const [i, wall] of walls.slice(1).entries()) {
    const before = walls[i] ?? NaN
    const skipsSome = anyMinute(names, before + minute, wall) && !(hasWildHour && anyMinute(names, wall, wall + 60 * minute))
    if (skipsSome || (names(wall) && (hasWildHour || wall > latest))) fired.push(start + i * minute)
    latest = Math.max(latest, wall)
  }
  return fired
}

function anyMinute(names: (wall: number) => boolean, from: number, to: number): boolean {
  for (let wall = from; wall < to; wall += minute) if (names(wall)) return true
  return false
}

/** The clocks are set within each of these, but for the last two. */
const windows: readonly [string, string][] = [
  ["Europe/Berlin", "2024-03-30"],
  ["Europe/Berlin", "2024-10-26"],
  ["America/New_York", "2024-03-09"],
  ["America/New_York", "2024-11-02"],
  ["Australia/Lord_Howe", "2024-04-06"],
  ["Australia/Lord_Howe", "2024-10-05"],
  ["America/Sao_Paulo", "2018-11-03"],
  ["America/Sao_Paulo", "2018-02-17"],
  ["Pacific/Apia", "2011-12-29"],
  ["Africa/Casablanca", "2024-03-09"],
  ["Africa/Casablanca", "2024-04-13"],
  ["Africa/Cairo", "2024-04-25"],
  ["Atlantic/Azores", "2024-10-26"],
  ["Antarctica/Troll", "2024-03-30"],
  ["Asia/Baku", "2008-03-29"],
  ["Asia/Baku", "2008-10-25"],
  ["Asia/Kolkata", "2024-02-28"],
  ["UTC", "2023-12-31"],
]

const everyMonth = fc.oneof({ weight: 4, arbitrary: fc.constant(star()) }, field(1, 12))

/** Expressions that never come are refused; here they are not of interest. */
function isPossible(cron: string): boolean {
  try {
    nextTime({ cron }, 0)
    return true
  } catch {
    return false
  }
}

describe.each(windows)("in %s from %s on", (timeZone, date) => {
  const start = Date.parse(date)
  const end = start + 3 * day
  const walls = clock(timeZone, start, 3)

  test("an expression fires when the reading minute by minute says so, and at no other time", () => {
    fc.assert(
      fc.property(expression(everyMonth), fc.integer({ min: 0, max: 3 * 1440 }), (one, minutes) => {
        fc.pre(isPossible(one.cron))
        const expected = readMinuteByMinute(one, start, walls)
        expect(timesBetween({ cron: one.cron, timeZone }, start - 1, end, 10_000)).toEqual(expected)
        const after = start + minutes * minute
        const next = nextTime({ cron: one.cron, timeZone }, after) ?? Infinity
        expect(next <= end ? next : undefined).toBe(expected.find((at) => at > after))
      }),
      { numRuns: 120 },
    )
  })
})

test("over years, an expression falls on the days that a reading day by day finds", () => {
  fc.assert(
    fc.property(expression(field(1, 12)), fc.integer({ min: 1890, max: 2110 }), (one, year) => {
      fc.pre(isPossible(one.cron))
      const cron = one.cron.replace(/^\S+ \S+/, "0 0")
      const start = Date.UTC(year, 0)
      const end = Date.UTC(year + 9, 0)
      const [time = 0] = timesBetween({ cron: one.cron }, Date.UTC(2000, 0) - 1, 8e15, 1).map((at) => at % day)
      const expected: number[] = []
      for (let at = start; at <= end; at += day) if (one.names(at + time)) expected.push(at)
      expect(timesBetween({ cron }, start - 1, end, 10_000)).toEqual(expected)
    }),
    { numRuns: 200 },
  )
})

test("in every zone and at every time, the next time is later, and the one after it later still", () => {
  const zones = Intl.supportedValuesOf("timeZone")
  const instants = fc.integer({ min: Date.UTC(1850, 0), max: Date.UTC(2500, 0) })
  fc.assert(
    fc.property(expression(everyMonth), fc.constantFrom(...zones), instants, (one, timeZone, after) => {
      fc.pre(isPossible(one.cron))
      const times = timesBetween({ cron: one.cron, timeZone }, after, 8e15, 20)
      expect(times).toHaveLength(20)
      for (const [i, at] of times.entries()) {
        expect(at).toBeGreaterThan(times[i - 1] ?? after)
        expect(nextTime({ cron: one.cron, timeZone }, at - 1)).toBe(at)
      }
    }),
    { numRuns: 300 },
  )
})

test("an interval's times are one interval apart, and the first is at most one away", () => {
  const every = fc.integer({ min: 1, max: 10 * day })
  const anyInstant = fc.integer({ min: -4e15, max: 4e15 })
  fc.assert(
    fc.property(every, anyInstant, anyInstant, (interval, anchor, after) => {
      const next = nextTime({ every: interval, anchor }, after) ?? NaN
      expect(next > after && next <= after + interval).toBe(true)
      expect((next - anchor) % interval === 0).toBe(true)
      expect(nextTime({ every: interval, anchor }, next)).toBe(next + interval)
    }),
  )
})
