import { expect, test } from "vitest"
import { nextWallTime, parseCron } from "./cron.ts"
import { PerdureError } from "../errors.ts"

/** Wall times as ISO texts, without the zone. */
function times(expression: string, from: string, count: number): string[] {
  const cron = parseCron(expression)
  const found: string[] = []
  let wall = nextWallTime(cron, Date.parse(`${from}Z`))
  for (; wall !== undefined && found.length < count; wall = nextWallTime(cron, wall + 1)) found.push(new Date(wall).toISOString().slice(0, 19))
  return found
}

test.each<[string, string, string[]]>([
  ["* * * * *", "2024-05-05T10:00:01", ["2024-05-05T10:01:00", "2024-05-05T10:02:00"]],
  ["*/20 * * * *", "2024-05-05T10:30", ["2024-05-05T10:40:00", "2024-05-05T11:00:00", "2024-05-05T11:20:00"]],
  ["10-40/10 3 * * *", "2024-05-05T03:25", ["2024-05-05T03:30:00", "2024-05-05T03:40:00", "2024-05-06T03:10:00"]],
  ["5,3,5 0 1 * *", "2024-01-01T00:04", ["2024-01-01T00:05:00", "2024-02-01T00:03:00"]],
  ["0 9 * * mon-Fri", "2024-05-03T09:00:00.001", ["2024-05-06T09:00:00"]],
  ["0 0 1 JAN,jul *", "2024-01-02T00:00", ["2024-07-01T00:00:00", "2025-01-01T00:00:00"]],
  ["0 0 ? * ?", "2024-05-05T10:00", ["2024-05-06T00:00:00"]],
  ["*/15 * * * * *", "2024-05-05T10:00:31", ["2024-05-05T10:00:45", "2024-05-05T10:01:00"]],
  ["30 59 23 31 12 *", "2024-12-31T23:59:30.001", ["2025-12-31T23:59:30"]],
  ["59 59 23 * * *", "2024-02-28T23:59:59.999", ["2024-02-29T23:59:59"]],
  ["  0   9\t* * *  ", "2024-05-05T10:00", ["2024-05-06T09:00:00"]],
  ["0 0 29 2 *", "2096-03-01T00:00", ["2104-02-29T00:00:00", "2108-02-29T00:00:00"]],
  ["0 0 29 FEB *", "1896-03-01T00:00", ["1904-02-29T00:00:00"]],
  ["0 0 31 * *", "2024-03-31T00:01", ["2024-05-31T00:00:00", "2024-07-31T00:00:00"]],
  ["0 0 1 1 *", "9998-06-01T00:00", ["9999-01-01T00:00:00"]],
  ["0 12 * * *", "0099-12-31T13:00", ["0100-01-01T12:00:00"]],
])("%j after %s", (expression, from, expected) => {
  expect(times(expression, from, expected.length)).toEqual(expected)
})

test.each([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * SUN"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@Hourly", "0 * * * *"],
])("%s is %s", (nickname, expression) => {
  expect(parseCron(nickname)).toEqual(parseCron(expression))
})

test.each([
  ["* * * * 0", "* * * * 7"],
  ["* * * * 0", "* * * * SUN"],
  ["* * * * FRI-SUN", "* * * * 0,5,6"],
  ["* * * * 5-7", "* * * * 0,5,6"],
  ["* * * * 7-2", "* * * * 0-2"],
  ["* * * * SUN-TUE", "* * * * 0-2"],
  ["0 * * * * *", "* * * * *"],
])("%s and %s are the same", (one, other) => {
  expect(parseCron(one)).toEqual(parseCron(other))
})

test("a wildcard for the hour is known, also with a step, and a range of all hours is none", () => {
  const wild = (hour: string) => parseCron(`0 ${hour} * * *`).hasWildHour
  expect(["*", "?", "*/2", "*/1"].map(wild)).toEqual([true, true, true, true])
  expect(["0", "0-23", "0-23/2", "1,2"].map(wild)).toEqual([false, false, false, false])
})

test.each<[unknown, string]>([
  ["60 * * * *", 'minute "60": 60 is not in 0-59; a minute is *, a number 0-59, a range (1-4), a step (*/2 or 1-5/2), or a list of these'],
  ["* 24 * * *", 'hour "24": 24 is not in 0-23; an hour is *, '],
  ["* * 0 * *", 'day-of-month "0": 0 is not in 1-31; a day-of-month is *, '],
  ["* * * 13 *", 'month "13": 13 is not in 1-12; a month is *, a number 1-12, a name JAN-DEC, '],
  ["* * * * 8", 'day-of-week "8": 8 is not in 0-7; a day-of-week is *, a number 0-7, a name SUN-SAT, '],
  ["61 * * * * *", 'second "61": 61 is not in 0-59; a second is *, '],
  ["1,61 * * * *", 'minute "1,61": "61": 61 is not in 0-59'],
  ["1,,2 * * * *", 'minute "1,,2": "": a value is missing'],
  ["x * * * *", 'minute "x": X is no minute'],
  ["-5 * * * *", 'minute "-5": a value is missing'],
  ["1.5 * * * *", 'minute "1.5": 1.5 is no minute'],
  ["1-2-3 * * * *", 'minute "1-2-3": a range has two ends'],
  ["1/2/3 * * * *", 'minute "1/2/3": it has two steps'],
  ["*/0 * * * *", 'minute "*/0": the step is 0, but must be a number in 1-59'],
  ["*/ * * * *", 'minute "*/": the step is missing, but must be a number in 1-59'],
  ["*/90 * * * *", 'minute "*/90": the step is 90, but must be a number in 1-59'],
  ["5/15 * * * *", 'minute "5/15": a step needs a range: write 5-59/15'],
  ["* 22-2 * * *", 'hour "22-2": the range runs backwards: write 22-23,0-2'],
  ["* * * * SAT-MON", 'day-of-week "SAT-MON": the range runs backwards: write SAT-SAT,SUN-MON'],
  ["* * * 11-2 *", 'month "11-2": the range runs backwards: write 11-12,1-2'],
  ["* * * FEBRUARY *", 'month "FEBRUARY": FEBRUARY is no month'],
  ["* * * * L", 'day-of-week "L": the last of which day? Write FRIL for the last Friday'],
  ["* * * * MON#6", 'day-of-week "MON#6": a month has a first to a fifth of each day: #1 to #5'],
  ["* * * * XL", 'day-of-week "XL": X is no day-of-week'],
  ["* * 32W * *", 'day-of-month "32W": 32 is not in 1-31; a day-of-month is *, '],
  ["* * W * *", 'day-of-month "W": W is no day-of-month'],
  ["* * * *", "it has 4 fields, but needs five (minute hour day-of-month month day-of-week), or six with the second first"],
  ["* * * * * * *", "it has 7 fields"],
  ["", "it has 0 fields"],
  ["@reboot", "no such nickname; there are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"],
  ["0 0 30 2 *", "it never comes: no day has the day-of-month 30, the month 2 and the day-of-week * together; change one of the three"],
  ["0 0 31 APR,JUN,SEP,NOV *", "it never comes"],
  ["0 0 30W FEB ?", "it never comes"],
  [5, 'a cron expression is a string such as "0 9 * * MON-FRI"'],
  [undefined, "a cron expression is a string"],
])("%j is refused: %s", (expression, why) => {
  expect(() => parseCron(expression as string)).toThrow(`cron ${String(JSON.stringify(expression))}: ${why}`)
  expect(() => parseCron(expression as string)).toThrow(expect.toSatisfy((thrown) => PerdureError.is(thrown, "BAD_SCHEDULE")))
})

test("there is no time after the last that a Date can hold", () => {
  expect(times("0 0 * * *", "+275760-09-12T00:00:00.001", 3)).toEqual(["+275760-09-13T00:00"])
  expect(nextWallTime(parseCron("* * * * *"), 8.64e15 + 1)).toBeUndefined()
  expect(nextWallTime(parseCron("* * * * *"), -9e15)).toBe(-8.64e15)
})
