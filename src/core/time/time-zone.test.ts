import fc from "fast-check"
import { expect, test } from "vitest"
import { PerdureError } from "../errors.ts"
import { timeZone } from "./time-zone.ts"

const hour = 3_600_000
const at = (text: string) => Date.parse(text)
const iso = (instant: number) => new Date(instant).toISOString().slice(0, 19)

/** Another way to the offset than the module's: through the date and the time that Intl writes. */
function offsetByParts(zone: string, instant: number): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric" },
    ...{ day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" },
  }).formatToParts(instant)
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value)
  const wall = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"))
  return wall - Math.floor(instant / 1000) * 1000
}

test.each([
  ["UTC", "2024-06-01T00:00Z", 0],
  ["Europe/Berlin", "2024-01-01T00:00Z", 1],
  ["Europe/Berlin", "2024-07-01T00:00Z", 2],
  ["America/New_York", "2024-01-01T00:00Z", -5],
  ["Asia/Kolkata", "2024-01-01T00:00Z", 5.5],
  ["Asia/Kathmandu", "2024-01-01T00:00Z", 5.75],
  ["Australia/Lord_Howe", "2024-01-01T00:00Z", 11],
  ["Australia/Lord_Howe", "2024-07-01T00:00Z", 10.5],
  ["Europe/Dublin", "2024-01-01T00:00Z", 0],
  ["Africa/Monrovia", "1971-01-01T00:00Z", -44.5 / 60],
])("the offset of %s at %s is %d hours", (name, instant, hours) => {
  expect(timeZone(name).offsetAt(at(instant))).toBe(hours * hour)
})

test("an offset changes at the millisecond at which the clocks are set", () => {
  const zone = timeZone("America/New_York")
  const spring = at("2024-03-10T07:00Z")
  expect([zone.offsetAt(spring - 1), zone.offsetAt(spring)]).toEqual([-5 * hour, -4 * hour])
  expect(zone.changeBetween(spring - 1, spring)).toEqual({ at: spring, from: -5 * hour, to: -4 * hour })
  expect(zone.changeBetween(spring, spring + 200 * 24 * hour)).toBeUndefined()
  expect(zone.changeBetween(spring - 100 * 24 * hour, spring - 1)).toBeUndefined()
  expect(zone.changeBetween(spring, at("2025-01-01T00:00Z"))?.at).toBe(at("2024-11-03T06:00Z"))
})

test("a change at midnight in UTC is found, on whichever day it falls", () => {
  const zone = timeZone("Asia/Baku")
  const years = Array.from({ length: 18 }, (_, i) => 1998 + i)
  const springs = years.map((year) => zone.changeBetween(Date.UTC(year, 0), Date.UTC(year, 6)))
  expect(springs.map((change) => change && iso(change.at).slice(11))).toEqual(years.map(() => "00:00:00"))
  expect(springs.map((change) => change && [change.from / hour, change.to / hour])).toEqual(years.map(() => [4, 5]))
  expect(springs.map((change) => change && zone.changeBetween(change.at - 1, change.at) === change)).toEqual(years.map(() => true))
})

test("a month without summer time and a week of it are found", () => {
  const changes = (name: string, from: string, to: string) => {
    const found: string[] = []
    let change = timeZone(name).changeBetween(at(from), at(to))
    for (; change !== undefined; change = timeZone(name).changeBetween(change.at, at(to))) found.push(iso(change.at))
    return found
  }
  expect(changes("Africa/Casablanca", "2024-01-01T00:00Z", "2025-01-01T00:00Z")).toEqual(["2024-03-10T02:00:00", "2024-04-14T02:00:00"])
  expect(changes("America/Recife", "2000-01-01T00:00Z", "2001-01-01T00:00Z")).toEqual(["2000-02-27T02:00:00", "2000-10-08T03:00:00", "2000-10-15T02:00:00"])
  expect(changes("Asia/Kolkata", "1950-01-01T00:00Z", "2030-01-01T00:00Z")).toEqual([])
})

test.each([
  ["a time that comes once", "Europe/Berlin", "2024-06-01T12:00", "2024-06-01T10:00:00"],
  ["the last time before a gap", "Europe/Berlin", "2024-03-31T01:59:59", "2024-03-31T00:59:59"],
  ["a time in the gap, at the jump", "Europe/Berlin", "2024-03-31T02:30", "2024-03-31T01:00:00"],
  ["the first time after the gap", "Europe/Berlin", "2024-03-31T03:00", "2024-03-31T01:00:00"],
  ["a time that comes twice, the first time", "Europe/Berlin", "2024-10-27T02:30", "2024-10-27T00:30:00"],
  ["the first time that does not come twice", "Europe/Berlin", "2024-10-27T03:00", "2024-10-27T02:00:00"],
  ["half an hour that comes twice", "Australia/Lord_Howe", "2024-04-07T01:45", "2024-04-06T14:45:00"],
  ["a skipped day, at its end", "Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00:00"],
  ["the day after a skipped one", "Pacific/Apia", "2011-12-31T00:00", "2011-12-30T10:00:00"],
  ["far ahead", "America/New_York", "2399-07-01T00:00", "2399-07-01T04:00:00"],
])("%s: in %s it is %s at %s", (_, name, wall, instant) => {
  expect(iso(timeZone(name).firstInstantOf(at(`${wall}Z`)))).toBe(instant)
})

test("in every zone and at every time, the offset is the one that Intl's dates show", () => {
  const zones = Intl.supportedValuesOf("timeZone")
  expect(zones.length).toBeGreaterThan(300)
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.integer({ min: at("1850-01-01"), max: at("2200-01-01") }), (name, instant) => {
      expect(timeZone(name).offsetAt(instant)).toBe(offsetByParts(name, instant))
    }),
    { numRuns: 300 },
  )
})

test("the first instant of a time shows that time, or follows a gap", () => {
  fc.assert(
    fc.property(fc.constantFrom(...Intl.supportedValuesOf("timeZone")), fc.integer({ min: at("1850-01-01"), max: at("2200-01-01") }), (name, wall) => {
      const zone = timeZone(name)
      const first = zone.firstInstantOf(wall)
      expect(first + zone.offsetAt(first)).toBeGreaterThanOrEqual(wall)
      expect(first - 1 + zone.offsetAt(first - 1)).toBeLessThan(wall)
    }),
    { numRuns: 300 },
  )
})

test("the ends of time have an offset too", () => {
  for (const name of ["UTC", "Asia/Tokyo"]) {
    expect(timeZone(name).offsetAt(8.64e15)).toBe(name === "UTC" ? 0 : 9 * hour)
    expect(timeZone(name).offsetAt(-8.64e15)).toBeGreaterThanOrEqual(0)
  }
})

test.each(["Mars/Olympus", "", "Berlin", null, 5])("the zone %j is refused, with the way out", (name) => {
  expect(() => timeZone(name as string)).toThrow(/^time zone .* is unknown here; give an IANA name such as "Europe\/Berlin", or "UTC"$/)
  expect(() => timeZone(name as string)).toThrow(expect.toSatisfy((thrown) => PerdureError.is(thrown, "BAD_SCHEDULE")))
})
