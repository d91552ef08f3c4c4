import { describe, expect, it } from "vitest"
import { anything, boolean, either, fromTexts, integer, issuesOf, list, nothing, number, object, oneOf, optional, record, string } from "./schema.ts"

const messagesOf = (schema: { json: object }, value: unknown) => issuesOf(schema.json, value).map(({ path, message }) => `${path}: ${message}`)

describe("a value", () => {
  it.each([
    [string(), 1, ": must be a string"],
    [string({ minLength: 1 }), "", ": must not be empty"],
    [string({ maxLength: 2 }), "abc", ": must have at most 2 characters"],
    [number(), "1", ": must be a number"],
    [number({ minimum: 0 }), Number.NaN, ": must be a number"],
    [integer(), 1.5, ": must be an integer"],
    [integer({ minimum: 1, maximum: 3 }), 4, ": must be at most 3"],
    [boolean(), "true", ": must be a boolean"],
    [nothing(), 0, ": must be null"],
    [oneOf(["a", "b"]), "c", `: must be "a" or "b"`],
    [list(string()), {}, ": must be an array"],
    [list(string()), ["a", 1], "[1]: must be a string"],
    [list(string(), { maxItems: 1 }), ["a", "b"], ": must have at most 1 items"],
    [record(integer()), { a: 1, b: "x" }, "b: must be an integer"],
    [object({ a: object({ b: list(object({ c: string() })) }) }), { a: { b: [{ c: 1 }] } }, "a.b[0].c: must be a string"],
    [object({ a: string() }), {}, "a: is missing"],
    [object({ a: string() }), { a: "", b: 1 }, "b: is not known; the fields are a"],
    [object({}), JSON.parse(`{"__proto__":1}`), "__proto__: is not known; the fields are none"],
    [object({ a: string() }), null, ": must be an object"],
    [object({ a: string() }), [], ": must be an object"],
    [either([string(), nothing()]), 1, ": must be a string or null"],
    [either([string(), object({ a: string() })]), { a: 1 }, "a: must be a string"],
  ])("%o does not fit %o: %s", (schema, value, message) => {
    expect(messagesOf(schema, value)).toEqual([message])
  })

  it.each([
    [anything(), undefined],
    [object({ a: optional(string()) }), { a: undefined }],
    [object({ a: optional(string()) }), {}],
    [either([integer(), oneOf(["Infinity"])]), "Infinity"],
    [string({ format: "date-time" }), new Date(0)],
    [record(anything()), { a: 1 }],
  ])("%o fits %o", (schema, value) => {
    expect(messagesOf(schema, value)).toEqual([])
  })

  it("with many faults is told of some", () => {
    expect(
      issuesOf(
        list(string()).json,
        Array.from({ length: 1_000 }, () => 1),
      ),
    ).toHaveLength(20)
  })
})

it("texts of a query become what their schema says", () => {
  expect(fromTexts(integer().json, ["12"])).toBe(12)
  expect(fromTexts(integer().json, ["x"])).toBe("x")
  expect(fromTexts(integer().json, ["1", "2"])).toEqual(["1", "2"])
  expect(fromTexts(boolean().json, ["true"])).toBe(true)
  expect(fromTexts(list(string()).json, ["a,b", "c"])).toEqual(["a", "b", "c"])
  expect(fromTexts(either([number(), string()]).json, ["-1.5"])).toBe(-1.5)
  expect(fromTexts(either([number(), string()]).json, ["30s"])).toBe("30s")
})
