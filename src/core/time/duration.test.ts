import fc from "fast-check"
import { expect, test } from "vitest"
import { durationMs, formatDuration, type Duration } from "./duration.ts"
import { PerdureError } from "../errors.ts"

test.each<[Duration, number]>([
  [500, 500],
  [0, 0],
  ["500ms", 500],
  ["30s", 30_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
  ["7d", 604_800_000],
  ["2w", 1_209_600_000],
  ["1 hour", 3_600_000],
  ["5 minutes", 300_000],
  ["1 millisecond", 1],
  ["10 milliseconds", 10],
  ["1 second", 1000],
  ["2 seconds", 2000],
  ["1 minute", 60_000],
  ["3 hours", 10_800_000],
  ["1 day", 86_400_000],
  ["2 days", 172_800_000],
  ["1 week", 604_800_000],
  ["2 weeks", 1_209_600_000],
  ["1.5h", 5_400_000],
  ["0.1 seconds", 100],
  ["1.1h", 3_960_000],
  [0.6, 1],
])("%j is %d ms", (duration, ms) => {
  expect(durationMs(duration)).toBe(ms)
})

test.each([
  -1,
  NaN,
  Infinity,
  "",
  "5",
  "h",
  "-5m",
  "5 fortnights",
  "5M",
  "1h 5m",
  " 5m",
  "1e3s",
  "Infinitys",
  "5  m",
  null,
  undefined,
  {},
  9e15,
  "1000000000w",
])("%j is refused, with the accepted forms", (value) => {
  const error = caught(() => durationMs(value as Duration, 'sleep "nap"'))
  expect(PerdureError.is(error, "BAD_DURATION")).toBe(true)
  expect((error as Error).message).toMatch(/^sleep "nap": .* "500ms", "30s", "5m", "24h", "7d", "2w", "1 hour", "5 minutes"$/)
})

test.each([
  [0, "0ms"],
  [999, "999ms"],
  [1000, "1s"],
  [1500, "1.5s"],
  [59_999, "59.9s"],
  [60_000, "1m"],
  [61_000, "1m 1s"],
  [3_599_999, "59m 59s"],
  [3_900_000, "1h 5m"],
  [3_601_000, "1h"],
  [86_400_000, "1d"],
  [90_000_000, "1d 1h"],
  [1_209_600_000, "14d"],
  [-1500, "-1.5s"],
])("%d ms is written %j", (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test("a whole number of one unit is read back from what is written", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 23 }),
      fc.constantFrom("s", "h"),
      (count, unit) => formatDuration(durationMs(`${count}${unit as "s"}`)) === `${count}${unit}`,
    ),
  )
})

function caught(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error("nothing was thrown")
}
