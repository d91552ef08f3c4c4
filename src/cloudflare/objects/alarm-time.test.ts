import { describe, expect, it } from "vitest"
import { lookAgainAt, withinReach } from "./alarm-time.ts"

const now = 1_800_000_000_000
const day = 24 * 60 * 60_000

describe("the time of an alarm", () => {
  it("of what is stuck is the later the longer that has waited, and never further than five minutes", () => {
    const waited = [0, 1_000, 4_000, 60_000, day]
    expect(waited.map((ms) => lookAgainAt(now - ms, now) - now)).toEqual([1_000, 1_000, 4_000, 60_000, 300_000])
  })

  it("is one that the platform takes", () => {
    expect(withinReach(now + day, now)).toBe(now + day)
    expect(withinReach(8_640_000_000_000_000, now)).toBe(now + 30 * day)
  })
})
