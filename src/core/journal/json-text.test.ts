import fc from "fast-check"
import { expect, test } from "vitest"
import { endOfValue, quoted } from "./json-text.ts"

test("a string is quoted as JSON.stringify does it", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => quoted(text) === JSON.stringify(text)))
  const units = Array.from({ length: 0x10000 }, (_, unit) => String.fromCharCode(unit))
  expect(units.filter((unit) => quoted(unit) !== JSON.stringify(unit))).toEqual([])
})

test("a value ends where its JSON ends, whatever comes after", () => {
  const value = fc.jsonValue({ stringUnit: fc.oneof(fc.constantFrom('"', "\\", "{", "}", "[", "]", ","), fc.string({ minLength: 1, maxLength: 1 })) as never })
  fc.assert(
    fc.property(value, fc.constantFrom("", ",", "}", "]", ',"a":1}', "}]"), (json, rest) => {
      const text = JSON.stringify(json)
      expect(endOfValue(`[${text}${rest}`, 1)).toBe(1 + text.length)
    }),
    { numRuns: 500 },
  )
})

test("text that is cut off ends at its end", () => {
  for (const text of ['"abc', '"abc\\"', "[1,[2]", '{"a":"', "12", ""]) expect(endOfValue(text, 0)).toBe(text.length)
})
