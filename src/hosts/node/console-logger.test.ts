import { afterEach, expect, it, vi } from "vitest"
import { consoleLogger } from "./console-logger.ts"

afterEach(() => vi.restoreAllMocks())

it("stored text can neither begin a line of the console's log nor control the terminal", () => {
  const lines: string[] = []
  vi.spyOn(console, "warn").mockImplementation((text: string) => void lines.push(text))
  vi.spyOn(console, "error").mockImplementation((text: string) => void lines.push(text))
  const error = Object.assign(new Error("card\u001b[2J declined\nperdure: all is well"), { code: "CARD\u009b" })
  consoleLogger.warn('step "a\u202e\nperdure: b" failed')
  consoleLogger.error("a hook failed", { error })
  expect(lines[0]).toBe('perdure: step "a\\u202e\\nperdure: b" failed')
  expect(lines[1]).toContain("perdure: a hook failed Error: card\\u001b[2J declined\n    perdure: all is well\n    at ")
  expect(lines[1]).toMatch(/code: 'CARD\\x9B'/)
  // oxlint-disable-next-line no-control-regex
  expect(lines.join("")).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]|\nperdure/)
})
