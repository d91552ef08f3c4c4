import { describe, expect, it } from "vitest"
import { safeLine, safeLines, safeText } from "./safe-text.ts"

describe("text for terminals and logs", () => {
  it("shows control characters and marks of direction instead of sending them", () => {
    expect(safeText("a\u001b[2Jb\u009b31mc\u0007\r\u202e\u2066\u200f")).toBe("a\\u001b[2Jb\\u009b31mc\\u0007\\u000d\\u202e\\u2066\\u200f")
  })

  it("keeps line breaks and tabs, unless it has to be one line", () => {
    expect(safeText("a\n\tb")).toBe("a\n\tb")
    expect(safeLine("a\r\n\tb")).toBe("a\\u000d\\n\\tb")
  })

  it("of several lines has none but the first at the margin", () => {
    expect(safeLines("Error: a\nperdure: all is well\n    at run (x.ts:1:1)\n  y")).toBe("Error: a\n    perdure: all is well\n    at run (x.ts:1:1)\n      y")
  })
})
