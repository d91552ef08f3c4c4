import { expect, it } from "vitest"
import { textOf } from "./error-text.ts"

it.each([
  ["a text", "a text"],
  [[1, "b"], "1,b"],
  [Object.create(null), "[object Object]"],
  [Array.from({ length: 12 }, (_, n) => n), "0,1,2,3,4,5,6,7,8,9,…"],
  [[["nested"]], "[…]"],
])("%j is shown as %s", (value, text) => {
  expect(textOf(value)).toBe(text)
})

it("a list that refers to a long text many times is shown by its beginning", () => {
  const long = "x".repeat(1_000_000)
  expect(textOf(Array.from({ length: 400 }, () => long)).length).toBeLessThan(4_000)
})
