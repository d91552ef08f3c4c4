import { describe, expect, it } from "vitest"
import { isColourful, styleOf } from "./style.ts"

const sink = (isTTY: boolean) => ({ isTTY, write: () => true })

describe("colours", () => {
  it.each([
    ["a terminal", {}, true, true],
    ["a pipe", {}, false, false],
    ["a terminal with NO_COLOR", { NO_COLOR: "1" }, true, false],
    ["a terminal with an empty NO_COLOR", { NO_COLOR: "" }, true, true],
    ["a pipe with FORCE_COLOR", { FORCE_COLOR: "1" }, false, true],
    ["a terminal with FORCE_COLOR=0", { FORCE_COLOR: "0" }, true, false],
    ["a dumb terminal", { TERM: "dumb" }, true, false],
  ])("%s", (_, env, isTTY, colourful) => {
    expect(isColourful({ env }, sink(isTTY))).toBe(colourful)
  })

  it("leave nothing behind where there are none", () => {
    expect(styleOf(false).red("x")).toBe("x")
    expect(styleOf(true).red("x")).toBe("\u001b[31mx\u001b[39m")
    expect(styleOf(true).red("")).toBe("")
  })

  it("go on after another colour inside them", () => {
    const style = styleOf(true)
    expect(style.red(`a ${style.green("b")} c`)).toBe("\u001b[31ma \u001b[32mb\u001b[31m c\u001b[39m")
  })
})
