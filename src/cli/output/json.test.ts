import { expect, it } from "vitest"
import { asJson } from "./json.ts"

it.each([undefined, 2])("JSON for a terminal has no control characters, and says the same (indent %s)", (indent) => {
  const value = { error: { message: "\u009b31m\u202e\u007f\u001b[2J\nb" }, "\u2066key": ["\u2028"] }
  const text = asJson(value, indent === undefined ? {} : { indent })
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/)
  expect(JSON.parse(text)).toEqual(value)
})
