import { expect, test } from "vitest"
import { PerdureError } from "../errors.ts"
import { describeRecurrence, nextTime, type Recurrence, timesBetween } from "./recurrence.ts"

const at = (text: string) => Date.parse(text)
const iso = (instant: number) => `${new Date(instant).toISOString().slice(0, 16)}Z`

/** The times from `from` to `to`, both included. */
function fired(cron: string, timeZone: string, from: string, to: string): string[] {
  return timesBetween({ cron, timeZone }, at(from) - 1, at(to), 1000).map(iso)
}

test.each<[string, string, string, string, string, string[]]>([
  [
    "a daily time goes with the wall clock over both changes",
    ...(["0 9 * * *", "Europe/Berlin", "2024-03-30T00:00Z", "2024-03-31T23:00Z"] as const),
    ["2024-03-30T08:00Z", "2024-03-31T07:00Z"],
  ],
  [
    "a skipped time fires once, at the jump",
    ...(["30 2 * * *", "Europe/Berlin", "2024-03-30T00:00Z", "2024-04-01T12:00Z"] as const),
    ["2024-03-30T01:30Z", "2024-03-31T01:00Z", "2024-04-01T00:30Z"],
  ],
  [
    "skipped times of one expression fire once together",
    ...(["*/15 2 * * *", "America/New_York", "2024-03-10T00:00Z", "2024-03-10T23:00Z"] as const),
    ["2024-03-10T07:00Z"],
  ],
  [
    "a skipped time and the time of the jump fire once together",
    ...(["30 2,3 * * *", "Europe/Berlin", "2024-03-31T00:00Z", "2024-03-31T23:00Z"] as const),
    ["2024-03-31T01:00Z", "2024-03-31T01:30Z"],
  ],
  [
    "a time that comes twice fires the first time",
    ...(["30 2 * * *", "Europe/Berlin", "2024-10-26T22:00Z", "2024-10-28T12:00Z"] as const),
    ["2024-10-27T00:30Z", "2024-10-28T01:30Z"],
  ],
  [
    "minutes of a fixed hour that comes twice fire in the first pass",
    ...(["*/20 1 * * *", "America/New_York", "2024-11-03T00:00Z", "2024-11-03T23:00Z"] as const),
    ["2024-11-03T05:00Z", "2024-11-03T05:20Z", "2024-11-03T05:40Z"],
  ],
  [
    "an hourly expression fires in both passes",
    ...(["0 * * * *", "America/New_York", "2024-11-03T04:00Z", "2024-11-03T08:00Z"] as const),
    ["2024-11-03T04:00Z", "2024-11-03T05:00Z", "2024-11-03T06:00Z", "2024-11-03T07:00Z", "2024-11-03T08:00Z"],
  ],
  [
    "an hourly expression leaves no hour out in spring",
    ...(["30 * * * *", "Europe/Berlin", "2024-03-30T23:00Z", "2024-03-31T03:00Z"] as const),
    ["2024-03-30T23:30Z", "2024-03-31T00:30Z", "2024-03-31T01:30Z", "2024-03-31T02:30Z"],
  ],
  [
    "every second hour: a skipped one fires at the jump",
    ...(["0 */2 * * *", "Europe/Berlin", "2024-03-30T22:00Z", "2024-03-31T05:00Z"] as const),
    ["2024-03-30T23:00Z", "2024-03-31T01:00Z", "2024-03-31T02:00Z", "2024-03-31T04:00Z"],
  ],
  [
    "every second hour: one that comes twice fires twice",
    ...(["0 */2 * * *", "Europe/Berlin", "2024-10-26T22:00Z", "2024-10-27T03:00Z"] as const),
    ["2024-10-26T22:00Z", "2024-10-27T00:00Z", "2024-10-27T01:00Z", "2024-10-27T03:00Z"],
  ],
  [
    "all hours in a range are fixed hours",
    ...(["0 0-23 * * *", "Europe/Berlin", "2024-10-26T23:00Z", "2024-10-27T03:00Z"] as const),
    ["2024-10-26T23:00Z", "2024-10-27T00:00Z", "2024-10-27T02:00Z", "2024-10-27T03:00Z"],
  ],
  [
    "half an hour that is skipped",
    ...(["15 2 * * *", "Australia/Lord_Howe", "2024-10-05T00:00Z", "2024-10-06T23:00Z"] as const),
    ["2024-10-05T15:30Z", "2024-10-06T15:15Z"],
  ],
  [
    "half an hour that comes twice",
    ...(["45 1 * * *", "Australia/Lord_Howe", "2024-04-06T12:00Z", "2024-04-07T23:00Z"] as const),
    ["2024-04-06T14:45Z", "2024-04-07T15:15Z"],
  ],
  [
    "quarters of an hour through half an hour that comes twice",
    ...(["*/15 * * * *", "Australia/Lord_Howe", "2024-04-06T14:30Z", "2024-04-06T15:30Z"] as const),
    ["2024-04-06T14:30Z", "2024-04-06T14:45Z", "2024-04-06T15:00Z", "2024-04-06T15:15Z", "2024-04-06T15:30Z"],
  ],
  [
    "an offset of half an hour",
    ...(["0 9 * * *", "Asia/Kolkata", "2024-01-01T00:00Z", "2024-01-02T12:00Z"] as const),
    ["2024-01-01T03:30Z", "2024-01-02T03:30Z"],
  ],
  [
    "a midnight that does not exist",
    ...(["0 0 * * *", "America/Sao_Paulo", "2018-11-03T00:00Z", "2018-11-05T12:00Z"] as const),
    ["2018-11-03T03:00Z", "2018-11-04T03:00Z", "2018-11-05T02:00Z"],
  ],
  [
    "a midnight that does not exist, of a wildcard",
    ...(["0 */12 * * *", "Africa/Cairo", "2024-04-25T12:00Z", "2024-04-26T12:00Z"] as const),
    ["2024-04-25T22:00Z", "2024-04-26T09:00Z"],
  ],
  [
    "a day that does not exist fires at its end",
    ...(["0 9 * * *", "Pacific/Apia", "2011-12-29T00:00Z", "2011-12-31T00:00Z"] as const),
    ["2011-12-29T19:00Z", "2011-12-30T10:00Z", "2011-12-30T19:00Z"],
  ],
  [
    "a year's day that does not exist fires at its end",
    ...(["0 9 30 DEC *", "Pacific/Apia", "2010-01-01T00:00Z", "2013-01-01T00:00Z"] as const),
    ["2010-12-30T19:00Z", "2011-12-30T10:00Z", "2012-12-29T19:00Z"],
  ],
  [
    "hours go on over a day that does not exist",
    ...(["0 * * * *", "Pacific/Apia", "2011-12-30T08:30Z", "2011-12-30T11:30Z"] as const),
    ["2011-12-30T09:00Z", "2011-12-30T10:00Z", "2011-12-30T11:00Z"],
  ],
  [
    "the hours of a day that does not exist fire once, at its end",
    ...(["0 * 30 12 *", "Pacific/Apia", "2011-01-01T00:00Z", "2012-12-29T11:00Z"] as const),
    ["2011-12-30T10:00Z", "2012-12-29T10:00Z", "2012-12-29T11:00Z"],
  ],
  [
    "a month without summer time",
    ...(["30 2 * * *", "Africa/Casablanca", "2024-03-10T00:00Z", "2024-03-11T12:00Z"] as const),
    ["2024-03-10T01:30Z", "2024-03-11T02:30Z"],
  ],
  [
    "summer time again after that month",
    ...(["30 2 * * *", "Africa/Casablanca", "2024-04-13T12:00Z", "2024-04-15T12:00Z"] as const),
    ["2024-04-14T02:00Z", "2024-04-15T01:30Z"],
  ],
])("%s: %s in %s", (_, cron, zone, from, to, expected) => {
  expect(fired(cron, zone, from, to)).toEqual(expected)
})

test("seconds are counted over a gap whose ends are no full minutes", () => {
  const monrovia = { cron: "*/30 * * * * *", timeZone: "Africa/Monrovia" }
  expect(timesBetween(monrovia, at("1972-01-07T00:44:00Z"), at("1972-01-07T00:45:00Z"), 9).map((time) => new Date(time).toISOString().slice(14, 19))).toEqual([
    "44:30",
    "45:00",
  ])
})

test("a wall time is the same from everywhere within the day before it", () => {
  const recurrence = { cron: "30 2 * * *", timeZone: "Europe/Berlin" }
  for (let after = at("2024-10-27T00:30Z"); after < at("2024-10-28T01:30Z"); after += 300_000) expect(nextTime(recurrence, after)).toBe(at("2024-10-28T01:30Z"))
})

test("without a time zone it is UTC", () => {
  expect(nextTime({ cron: "@daily" }, at("2024-03-31T00:00Z"))).toBe(at("2024-04-01T00:00Z"))
})

test("the next time is later than the instant asked for, by a millisecond at least", () => {
  const minutely = { cron: "* * * * *" }
  expect(nextTime(minutely, 60_000 - 1)).toBe(60_000)
  expect(nextTime(minutely, 60_000 - 0.5)).toBe(60_000)
  expect(nextTime(minutely, 60_000)).toBe(120_000)
  expect(nextTime({ every: 100 }, 100)).toBe(200)
})

test.each<[Recurrence, number, number]>([
  [{ every: "15m" }, 1, 900_000],
  [{ every: "15m" }, -1, 0],
  [{ every: "15m" }, -900_000, 0],
  [{ every: "15m" }, -900_001, -900_000],
  [{ every: 1000, anchor: 300 }, 0, 300],
  [{ every: 1000, anchor: 300 }, 300, 1300],
  [{ every: 1000, anchor: 5300 }, 0, 300],
  [{ every: 1000, anchor: -300 }, 0, 700],
  [{ every: 1000, anchor: -300 }, -5000, -4300],
  [{ every: 1 }, 7, 8],
  [{ every: 7, anchor: 8.64e15 }, -8.64e15, -8.64e15 + 4],
])("%j after %d is %d", (recurrence, after, expected) => {
  expect(nextTime(recurrence, after)).toBe(expected)
})

test("times between are later than the one end, the other included, and no more than asked for", () => {
  const recurrence = { every: "1s" } as const
  expect(timesBetween(recurrence, 0, 3000, 10)).toEqual([1000, 2000, 3000])
  expect(timesBetween(recurrence, 0, 3000, 2)).toEqual([1000, 2000])
  expect(timesBetween(recurrence, 0, 3000, 0)).toEqual([])
  expect(timesBetween(recurrence, 3000, 3000, 10)).toEqual([])
  expect(timesBetween(recurrence, 4000, 3000, 10)).toEqual([])
})

test("there is no time after the last that a Date can hold", () => {
  for (const recurrence of [{ cron: "* * * * *" }, { cron: "0 9 * * *", timeZone: "Asia/Tokyo" }, { cron: "0 9 29 2 *" }, { every: "1d" }] as const)
    expect(nextTime(recurrence, 8.64e15)).toBeUndefined()
  expect(nextTime({ cron: "0 0 1 1 *" }, at("+275760-02-01T00:00Z"))).toBeUndefined()
  expect(timesBetween({ every: "1d" }, 8.64e15 - 86_400_000, 9e15, 5)).toEqual([8.64e15])
})

test.each<[unknown, string, string]>([
  [{ cron: "* * * *" }, "BAD_SCHEDULE", "it has 4 fields"],
  [
    { cron: "* * * * *", timeZone: "Mars/Olympus" },
    "BAD_SCHEDULE",
    'time zone "Mars/Olympus" is unknown here; give an IANA name such as "Europe/Berlin", or "UTC"',
  ],
  [{ every: 0 }, "BAD_SCHEDULE", "every is 0; give at least one millisecond"],
  [{ every: "0.2ms" }, "BAD_SCHEDULE", 'every is "0.2ms"; give at least'],
  [{ every: "soon" }, "BAD_DURATION", 'every: "soon" is not a duration'],
  [{ every: "1m", anchor: NaN }, "BAD_SCHEDULE", "anchor is NaN; give a Date"],
  [{ every: "1m", cron: "* * * * *" }, "BAD_SCHEDULE", "a recurrence has either cron (and timeZone) or every (and anchor), but this has every, cron"],
  [{ every: "1m", timeZone: "UTC" }, "BAD_SCHEDULE", "but this has every, timeZone"],
  [{}, "BAD_SCHEDULE", "but this has none of them"],
  [null, "BAD_SCHEDULE", "but this has none of them"],
])("%j is refused with %s: %s", (recurrence, code, message) => {
  expect(() => nextTime(recurrence as Recurrence, 0)).toThrow(message)
  expect(() => timesBetween(recurrence as Recurrence, 0, 1, 1)).toThrow(expect.toSatisfy((thrown) => PerdureError.is(thrown) && thrown.code === code))
})

test("an instant that is none is refused", () => {
  expect(() => nextTime({ every: "1m" }, NaN)).toThrow(/^after is NaN; give a Date/)
  expect(() => timesBetween({ every: "1m" }, Infinity, 0, 1)).toThrow(/^from is Infinity; give a Date/)
})

test.each<[Recurrence, string]>([
  [{ every: "5m" }, "every 5 minutes"],
  [{ every: "1h" }, "every hour"],
  [{ every: "90m" }, "every 90 minutes"],
  [{ every: "36h" }, "every 36 hours"],
  [{ every: "14d" }, "every 2 weeks"],
  [{ every: 1500 }, "every 1500 milliseconds"],
  [{ every: 1 }, "every millisecond"],
  [{ every: "1d", anchor: at("2024-01-01T09:30Z") }, "every day from 2024-01-01T09:30:00.000Z"],
  [{ every: "1d", anchor: at("2024-01-01T00:00Z") }, "every day"],
  [{ cron: "0 9 * * MON-FRI", timeZone: "Europe/Berlin" }, "0 9 * * MON-FRI in Europe/Berlin"],
  [{ cron: " @daily " }, "@daily in UTC"],
])("%j is described as %j", (recurrence, text) => {
  expect(describeRecurrence(recurrence)).toBe(text)
})
