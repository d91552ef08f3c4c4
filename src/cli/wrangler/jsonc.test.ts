import { expect, it } from "vitest"
import { JsoncError, parseJsonc } from "./jsonc.ts"

it("reads comments, trailing commas and a byte order mark", () => {
  const text = `\uFEFF// the first line
  {
    /* a comment , } over
       two lines */
    "a": [1, -2.5e3, true, null,], // the end
    "url": "https://example.com/*no comment*/", "quote": "say \\"hi\\" \\u00e9",
    "__proto__": {},
  }
  // the last line`
  const value = parseJsonc(text) as Record<string, unknown>
  expect(Object.entries(value)).toEqual([
    ["a", [1, -2500, true, null]],
    ["url", "https://example.com/*no comment*/"],
    ["quote", 'say "hi" é'],
    ["__proto__", {}],
  ])
})

it.each([
  ["{", 1, 2, /the end of the file/],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 3, /, or } should be here, not "\\""/],
  ['{ "a" 1 }', 1, 7, /: should be here, after "a"/],
  ["{ 'a': 1 }", 1, 3, /a name in double quotes/],
  ['{ "a": yes }', 1, 8, /yes is no JSON/],
  ['{ "a": 01 }', 1, 8, /01 is no JSON/],
  ['{ "a": "b\n" }', 1, 8, /no closing quote/],
  ['{ "a": "\\x" }', 1, 8, /is no JSON/],
  ["{ /* }", 1, 3, /this comment has no end/],
  ["[1,,2]", 1, 4, /a value should be here/],
  ["{}\n{}", 2, 1, /after the end/],
  ["", 1, 1, /a value should be here, not the end of the file/],
])("says where %j is wrong", (text, line, column, message) => {
  let error: unknown
  try {
    parseJsonc(text)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(JsoncError)
  expect(error).toMatchObject({ line, column, message: expect.stringMatching(message) as string })
})

it("reads what JSON.parse reads", () => {
  const value = { text: 'a"\\/\b\f\n\r\té\u2028', numbers: [0, -1, 1e21, 1e-7, 0.1], nested: [[], {}, [{ a: [null, true, false] }]] }
  expect(parseJsonc(JSON.stringify(value))).toEqual(value)
  expect(parseJsonc(JSON.stringify(value, null, 2))).toEqual(value)
})
