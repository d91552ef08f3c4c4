import { describe, expect, it } from "vitest"
import { relativeTime, shortTime } from "./clock.ts"

const now = new Date(2026, 10, 16, 14, 3, 22).getTime()
const at = (...parts: [number, number, number, number, number]) => new Date(...parts).getTime()

describe("a time", () => {
  it("is only a time if it is of today", () => {
    expect(shortTime(at(2026, 10, 16, 0, 5), now)).toBe("00:05:00")
    expect(shortTime(now, now)).toBe("14:03:22")
  })

  it("has the day if it is of another", () => {
    expect(shortTime(at(2026, 10, 15, 23, 59), now)).toBe("Nov 15 23:59")
    expect(shortTime(at(2026, 9, 2, 7, 0), now)).toBe("Oct  2 07:00")
    expect(shortTime(at(2027, 0, 2, 7, 0), now)).toBe("Jan  2 07:00")
  })

  it("is a date if it is far away", () => {
    expect(shortTime(at(2025, 10, 16, 7, 0), now)).toBe("2025-11-16")
  })

  it.each([
    [now - 300, "now"],
    [now - 1_900, "1s ago"],
    [now - 61_000, "1m 1s ago"],
    [now + 3_600_000, "in 1h"],
  ])("is said from now: %i", (instant, text) => {
    expect(relativeTime(instant, now)).toBe(text)
  })
})
