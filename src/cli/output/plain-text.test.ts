import { describe, expect, it } from "vitest"
import { oneLine, pad, safeText, textWidth, truncate } from "./plain-text.ts"

describe("text for a terminal", () => {
  it("shows control characters instead of sending them", () => {
    expect(safeText("a\u001b[2Jb\u009b31mc\u0007\r\u202e")).toBe("a\\u001b[2Jb\\u009b31mc\\u0007\\u000d\\u202e")
  })

  it("keeps line breaks and tabs", () => {
    expect(safeText("a\n\tb")).toBe("a\n\tb")
  })

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
