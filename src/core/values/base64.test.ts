import fc from "fast-check"
import { expect, it } from "vitest"
import { fromBase64, toBase64 } from "./base64.ts"

it("writes what everybody else writes, and reads it back", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"))
      expect(fromBase64(toBase64(bytes))).toEqual(bytes)
    }),
  )
})

it.each(["a", "ab", "abc", "a=bc", "ab?=", "é===", "abcde"])("%s is not base64", (text) => {
  expect(fromBase64(text)).toBeUndefined()
})
