import { describe, expect, it } from "vitest"
import { oneLine, pad, textWidth, truncate } from "./plain-text.ts"

describe("text for a terminal", () => {
  it("becomes one line", () => {
    expect(oneLine("a\n   at b\r\nc\td")).toBe("a at b c d")
  })

  it.each([
    ["abc", 3],
    ["日本", 4],
    ["👩‍👩‍👧", 2],
    ["é", 1],
    ["\u001b[31mred\u001b[39m", 3],
    ["█░▒", 3],
  ])("%s is so wide: %i", (text, width) => {
    expect(textWidth(text)).toBe(width)
  })

  it("is cut at the end of a character", () => {
    expect(truncate("abcdef", 4)).toBe("abc…")
    expect(truncate("日本語です", 6)).toBe("日本…")
    expect(truncate("abc", 3)).toBe("abc")
    expect(truncate("abc", 0)).toBe("")
  })

  it("is filled up on either side", () => {
    expect(pad("ab", 4)).toBe("ab  ")
    expect(pad("日", 4, "right")).toBe("  日")
  })
})
