import { describe, expect, it } from "vitest"
import { textWidth } from "./plain-text.ts"
import { progressLine } from "./progress.ts"
import { styleOf } from "./style.ts"

const plain = styleOf(false)

describe("a progress bar", () => {
  it("says how far it is, and how long it will take", () => {
    expect(progressLine({ done: 420, failed: 0, total: 1_000, elapsedMs: 10_000 }, 79, plain)).toBe(
      " 42% ████████████████░░░░░░░░░░░░░░░░░░░░░░░░  420 of 1,000  14s left",
    )
    expect(progressLine({ done: 10, failed: 2, total: 10, elapsedMs: 10_000 }, 79, plain)).toBe(`100% ${"█".repeat(40)}  10 of 10  2 failed`)
    expect(progressLine({ done: 0, failed: 0, total: 10, elapsedMs: 0 }, 79, plain)).toBe(`  0% ${"░".repeat(40)}  0 of 10`)
  })

  it.each([30, 50, 79, 200])("fits into %i columns", (width) => {
    const line = progressLine({ done: 500, failed: 3, total: 123_456, elapsedMs: 60_000 }, width, plain)
    expect(textWidth(line)).toBeLessThanOrEqual(Math.max(width, 45))
  })
})
