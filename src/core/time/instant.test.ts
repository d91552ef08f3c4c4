import { expect, test } from "vitest"
import { instant } from "./instant.ts"

test("a Date, a number and an ISO string are the same time, in whole milliseconds", () => {
  for (const value of [new Date(1_500_000_000_000), 1_500_000_000_000.4, "2017-07-14T02:40:00.000Z"]) expect(instant(value, "t")).toBe(1_500_000_000_000)
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e16, "tomorrow", new Date(Number.NaN), undefined as unknown as number])("%s is refused", (value) => {
  expect(() => instant(value, "startAt")).toThrow(/^startAt is .*; give a Date/)
})
