import fc from "fast-check"
import { PerdureError } from "perdure"
import { describe, expect, it } from "vitest"
import { encodePlain } from "./plain-body.ts"
import { decodeRich, encodeRich, isRichType, parseJson, richType } from "./wire-format.ts"

describe("the rich form", () => {
  it.each([
    [undefined, "{}"],
    [null, `{"value":null}`],
    [{ a: [1, "b"] }, `{"value":{"a":[1,"b"]}}`],
    [new Date(0), `{"rich":[["Date","1970-01-01T00:00:00.000Z"]]}`],
  ])("of %o is %s", (value, text) => {
    expect(encodeRich(value)).toBe(text)
    expect(decodeRich(text)).toEqual(value)
  })

  it("gives back what it was given", () => {
    // A key of this name is refused: whoever copies such an object would change its prototype.
    const key = fc.string().filter((name) => name !== "__proto__")
    const value = fc.anything({ key, withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true, withSparseArray: true })
    fc.assert(
      fc.property(value, (given) => {
        expect(decodeRich(encodeRich(given))).toStrictEqual(given)
      }),
      { numRuns: 300 },
    )
  })

  it("keeps errors, with their class, code and cause", () => {
    const error = new PerdureError("NOT_FOUND", "there is none", { details: { instance: "a" }, cause: new TypeError("why") })
    const revived = decodeRich(encodeRich({ error })) as { error: PerdureError }
    expect(PerdureError.is(revived.error, "NOT_FOUND")).toBe(true)
    expect(revived.error.details).toEqual({ instance: "a" })
    expect(revived.error.cause).toBeInstanceOf(TypeError)
  })

  it.each([
    "",
    "[",
    "[]",
    "1",
    `{"other":1}`,
    `{"value":1,"rich":[1]}`,
    `{"rich":{}}`,
    `{"rich":[]}`,
    `{"rich":[["Unknown",1]]}`,
    `{"rich":[["Error",-1]]}`,
    `{"rich":[["Error",5]]}`,
    `{"rich":[["PerdureError",0]]}`,
    `{"rich":[["URL","no url"]]}`,
    `{"rich":[["RegExp","(","g"]]}`,
    `{"rich":[["BigInt","x"]]}`,
    `{"rich":[["BigInt","${"9".repeat(100_001)}"]]}`,
    `{"rich":[[-7,4294967295]]}`,
    `{"rich":[{"__proto__":1},{"a":2},3]}`,
  ])("refuses %s", (text) => {
    expect(() => decodeRich(text)).toThrow(expect.objectContaining({ code: "BAD_JSON" }))
  })

  it("is recognised in Content-Type and Accept", () => {
    expect(isRichType(`text/event-stream, ${richType}; q=0.9`)).toBe(true)
    expect(isRichType("application/json")).toBe(false)
    expect(isRichType(undefined)).toBe(false)
  })
})

describe("the plain form", () => {
  it("says what JSON does not have with what is nearest to it", () => {
    const value = {
      date: new Date(0),
      never: new Date(Number.NaN),
      big: 12n,
      map: new Map([["a", new Date(0)]]),
      set: new Set([1n]),
      bytes: new Uint8Array([1, 2, 255]),
      buffer: new Uint8Array([1]).buffer,
      pattern: /a/g,
      url: new URL("https://example.com/a"),
      infinite: Number.POSITIVE_INFINITY,
      nothing: undefined,
      list: [undefined, 1],
    }
    expect(JSON.parse(encodePlain(value))).toEqual({
      date: "1970-01-01T00:00:00.000Z",
      never: null,
      big: "12",
      map: [["a", "1970-01-01T00:00:00.000Z"]],
      set: ["1"],
      bytes: "AQL/",
      buffer: "AQ==",
      pattern: "/a/g",
      url: "https://example.com/a",
      infinite: "Infinity",
      list: [null, 1],
    })
    expect(encodePlain(undefined)).toBe("null")
  })

  it("shows an error's name, message, fields and cause, and the frames of its stack that are the user's", () => {
    const inner = new Error("inner")
    const ours = "    at decodeValue (file:///app/node_modules/perdure/dist/node/shared-AB.js:1:2)"
    inner.stack = `Error: inner\n${ours}\n    at charge (file:///app/pay.ts:4:9)`
    const error = Object.assign(new RangeError("too much", { cause: inner }), { limit: 3n })
    error.stack = `RangeError: too much\n${ours}`
    expect(JSON.parse(encodePlain({ error }))).toEqual({
      error: {
        name: "RangeError",
        message: "too much",
        limit: "3",
        cause: { name: "Error", message: "inner", stack: "Error: inner\n    at charge (file:///app/pay.ts:4:9)" },
      },
    })
    const perdures = new PerdureError("NOT_FOUND", "none")
    perdures.stack = `PerdureError: none\n${ours}`
    expect(JSON.parse(encodePlain(perdures))).toEqual({ name: "PerdureError", message: "none", code: "NOT_FOUND", details: {} })
  })

  it("comes to an end with cycles, depth, and parts that are referred to again and again", () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    expect(encodePlain(cycle)).toBe(`["[circular]"]`)
    let deep: unknown = undefined
    for (let level = 0; level < 5_000; level++) deep = [deep]
    expect(encodePlain(deep)).toContain("[left out]")
    let laughs: unknown = new Date(0)
    for (let level = 0; level < 24; level++) laughs = [laughs, laughs]
    expect(() => encodePlain(laughs)).toThrow(expect.objectContaining({ code: "TOO_LARGE_FOR_JSON" }))
  })

  it("is any JSON that others send, but not nested without end", () => {
    expect(parseJson(`{"a":["[[[[",1]}`)).toEqual({ a: ["[[[[", 1] })
    expect(parseJson("[".repeat(1_000) + "]".repeat(1_000))).toBeInstanceOf(Array)
    expect(() => parseJson("[".repeat(1_001) + "]".repeat(1_001))).toThrow(expect.objectContaining({ code: "BAD_JSON" }))
    expect(() => parseJson("{")).toThrow(expect.objectContaining({ code: "BAD_JSON" }))
    expect(parseJson(JSON.stringify(['\\"[['.repeat(2_000)]))).toHaveLength(1)
  })
})
