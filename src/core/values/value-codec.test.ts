import { Buffer } from "node:buffer"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { decodeValue, encodeValue, isPlainEncoded, Payload, utf8Length } from "./value-codec.ts"
import { PerdureError } from "../errors.ts"

const roundTrip = (value: unknown) => decodeValue(encodeValue(value))

describe("a plain value", () => {
  test.each<[unknown, string]>([
    [undefined, ""],
    [null, "null"],
    [true, "true"],
    [false, "false"],
    [0, "0"],
    [-1.5e-9, "-1.5e-9"],
    [1e21, "1e+21"],
    ["", '""'],
    ["héllo", '"héllo"'],
    ['a"b\\c\n\u0000', '"a\\"b\\\\c\\n\\u0000"'],
    ["\ud800", '"\\ud800"'],
    ["😀", '"😀"'],
    ["~", '"~"'],
    [{}, "{}"],
    [[], "[]"],
    [{ i: 1 }, '{"i":1}'],
    [[1, [2, { a: null, b: "x" }]], '[1,[2,{"a":null,"b":"x"}]]'],
  ])("%j is stored as %j", (value, text) => {
    expect(encodeValue(value)).toBe(text)
    expect(decodeValue(text)).toStrictEqual(value)
    expect(isPlainEncoded(text)).toBe(true)
  })
})

describe("a rich value comes back as it was:", () => {
  const shared = { a: 1 }
  const bytes = new Uint8Array([1, 2, 3, 255])
  test.each<[string, unknown]>([
    ["undefined in an object", { a: undefined }],
    ["undefined in an array", [undefined]],
    ["Date", new Date("2026-01-02T03:04:05.678Z")],
    ["invalid Date", new Date(NaN)],
    [
      "Map",
      new Map<unknown, unknown>([
        ["a", 1],
        [{ k: 1 }, new Date(5)],
      ]),
    ],
    ["Set", new Set([1, "a", shared])],
    ["BigInt", 12345678901234567890n],
    ["RegExp", /a+\/"b/gi],
    ["URL", new URL("https://example.com/a?b=c#d")],
    ["NaN", NaN],
    ["Infinity", Infinity],
    ["-Infinity", [-Infinity]],
    ["-0", -0],
    ["-0 inside", { zero: -0 }],
    ["sparse array", [1, , 3]], // oxlint-disable-line no-sparse-arrays
    ["very sparse array", Object.assign([], { 1_000_000: "x" })],
    ["object without a prototype", Object.assign(Object.create(null), { a: 1 })],
    ["ArrayBuffer", bytes.buffer.slice(0)],
    ["Uint8Array", bytes],
    ["Float64Array", new Float64Array([1.5, -0, NaN])],
    ["BigInt64Array", new BigInt64Array([-5n])],
    ["Int16Array", new Int16Array([-1, 2])],
    ["DataView", new DataView(bytes.buffer, 1, 2)],
    ["lone surrogate in rich text", { a: "\ud800", "\udc00": undefined }],
    ["text that HTML cares about", new Set(["</script>\u2028"])],
    ["repeated reference", [shared, shared]],
  ])("%s", (_, value) => {
    const text = encodeValue(value)
    expect(text).toMatch(/^~/)
    expect(Buffer.from(text).toString()).toBe(text)
    expect(decodeValue(text)).toStrictEqual(value)
    expect(encodeValue(decodeValue(text))).toBe(text)
  })

  test("identity of what is referred to twice, in a plain tree too", () => {
    const [one, two] = roundTrip([shared, shared]) as [object, object]
    expect(one).toBe(two)
    const many = Array.from({ length: 40 }, (_, i) => ({ i }))
    const back = roundTrip([...many, many[39]]) as object[]
    expect(back[40]).toBe(back[39])
  })

  test("cycles", () => {
    const cycle: { self?: unknown; list: unknown[]; map: Map<string, unknown> } = { list: [], map: new Map() }
    cycle.self = cycle
    cycle.list.push(cycle)
    cycle.map.set("up", cycle)
    const back = roundTrip(cycle) as typeof cycle
    expect([back.self, back.list[0], back.map.get("up")]).toEqual([back, back, back])
    expect(back.self).toBe(back)
  })

  test("depth beyond what the plain way looks at", () => {
    let deep: unknown = "bottom"
    for (let i = 0; i < 500; i++) deep = i % 2 === 0 ? [deep] : { deep }
    expect(roundTrip(deep)).toStrictEqual(deep)
  })

  test("a Buffer, as a Buffer of its bytes and of no others, also out of a pool", () => {
    for (const buffer of [Buffer.from("secret-free"), Buffer.alloc(20_000, 7), Buffer.from("xxabcxx").subarray(2, 5)]) {
      const back = (roundTrip({ buffer }) as { buffer: Buffer }).buffer
      expect(Buffer.isBuffer(back)).toBe(true)
      expect(back).toStrictEqual(buffer)
      expect(back.buffer.byteLength).toBe(buffer.length)
    }
  })

  test("a Uint8Array stays one, also on the bytes of a Buffer", () => {
    const buffer = Buffer.alloc(20_000, 7)
    const [bytes, twice] = roundTrip([new Uint8Array(buffer.buffer), [buffer, buffer]]) as [Uint8Array, [Buffer, Buffer]]
    expect(Buffer.isBuffer(bytes)).toBe(false)
    expect(twice[0]).toBe(twice[1])
    expect(encodeValue(Buffer.from("abc"))).toBe('~[["Buffer",1],["ArrayBuffer","YWJj"]]')
  })

  test("a view of a part of a buffer, without the rest of it", () => {
    const view = new Uint16Array(new Uint16Array(100_000).buffer, 2, 3)
    expect(encodeValue(view).length).toBeLessThan(100)
    expect(roundTrip(view)).toStrictEqual(new Uint16Array(3))
    const shared = new Uint8Array(new SharedArrayBuffer(4))
    expect(roundTrip(shared)).toStrictEqual(new Uint8Array(4))
  })
})

describe("what only looks plain is not taken for JSON:", () => {
  test.each<[string, object]>([
    ["toJSON that is not enumerable", Object.defineProperty({ a: 1 }, "toJSON", { value: () => 5 })],
    ["toJSON of an array", Object.defineProperty([1], "toJSON", { value: () => 5 })],
  ])("%s", (_, value) => {
    expect(encodeValue(value)).toMatch(/^~/)
    expect(roundTrip(value)).toEqual(Array.isArray(value) ? [1] : { a: 1 })
  })
})

describe("what cannot be stored is refused with its path:", () => {
  class Money {
    readonly cents = 5
  }
  class Rows extends Array<unknown> {}
  const nested = (value: unknown) => ({ items: [0, 1, { handler: value }] })
  test.each<[string, unknown, string, string]>([
    ["function", nested(() => 1), "result.items[2].handler", "is a function"],
    ["symbol", nested(Symbol("s")), "result.items[2].handler", "is a symbol"],
    ["class instance", nested(new Money()), "result.items[2].handler", "is an instance of Money"],
    ["subclass of Array", nested(Rows.from([1])), "result.items[2].handler", "is an instance of Rows"],
    ["subclass of Map", new (class Registry extends Map {})(), "result", "is an instance of Registry"],
    ["promise", nested(Promise.resolve(1)), "result.items[2].handler", "is a promise; await it first"],
    ["WeakMap", [new WeakMap()], "result[0]", "is an instance of WeakMap"],
    ["generator", (function* () {})(), "result", "is an instance of"],
    ["the root itself", () => 1, "result", "is a function"],
    ["in a Map", new Map([["a", { b: Symbol("s") }]]), 'result.get("a").b', "is a symbol"],
    ["in an Error", { error: Object.assign(new Error("x"), { request: { send() {} } }) }, "result.error.request.send", "is a function"],
    ["in a cause", new Error("x", { cause: new Money() }), "result.cause", "is an instance of Money"],
    ["symbol keys", { a: { [Symbol("k")]: 1 } }, "result.a", "has symbols as keys"],
    ["__proto__ key", { a: JSON.parse('{"__proto__":1}') as unknown }, "result.a", 'has a key "__proto__"'],
    ["odd key", { "a b": () => 1 }, 'result["a b"]', "is a function"],
  ])("%s", (_, value, path, problem) => {
    const error = refusal(() => encodeValue(value, { what: "result" }))
    expect(error.message).toContain(`${path} ${problem}`)
    expect(error).toMatchObject({ code: "UNSERIALIZABLE", details: { path } })
  })

  test("too deep, or unreadable", () => {
    let deep: unknown = "bottom"
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(refusal(() => encodeValue(deep)).message).toBe("value is nested too deeply to be stored")
    const throwing = Object.defineProperty({}, "a", {
      enumerable: true,
      get: () => {
        throw new Error("boo")
      },
    })
    expect(refusal(() => encodeValue(throwing)).message).toBe("value could not be read: Error: boo")
  })
})

describe("the size limit", () => {
  test("is of the UTF-8 text, and both sizes are named", () => {
    expect(encodeValue("é".repeat(49), { bytesMax: 100 })).toHaveLength(51)
    const error = refusal(() => encodeValue("é".repeat(50), { bytesMax: 100, what: "input" }))
    expect(error.message).toMatch(/^input has 102 bytes when encoded, more than the 100 allowed/)
    expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", details: { bytes: 102, bytesMax: 100 } })
  })

  test("is 8 MiB unless told", () => {
    const largest = 8 * 1024 * 1024 - 2
    encodeValue("x".repeat(largest))
    expect(refusal(() => encodeValue("x".repeat(largest + 1))).code).toBe("PAYLOAD_TOO_LARGE")
  })

  test("counts bytes as UTF-8 does", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => utf8Length(encodeValue(text)) === Buffer.byteLength(encodeValue(text))))
  })
})

describe("for any value", () => {
  test("of JSON, the text is JSON of it, and it comes back", () => {
    const json = fc.json({ stringUnit: "binary" }).filter((text) => !text.includes("__proto__") && !text.includes("-0"))
    fc.assert(
      fc.property(
        json.map((text) => JSON.parse(text) as unknown),
        (value) => {
          const text = encodeValue(value)
          expect(text).toBe(JSON.stringify(value))
          expect(Buffer.from(text).toString()).toBe(text)
          expect(decodeValue(text)).toStrictEqual(value)
        },
      ),
    )
  })

  test("of the rich types, it comes back, and its text is the same again", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withObjectString: false,
      withBoxedValues: false,
      key: fc.string({ unit: "binary" }).filter((key) => key !== "__proto__"),
    })
    fc.assert(
      fc.property(anything, (value) => {
        const text = encodeValue(value)
        const back = decodeValue(text)
        expect(Buffer.from(text).toString()).toBe(text)
        expect(back).toStrictEqual(value)
        expect(encodeValue(back)).toBe(text)
      }),
      { numRuns: 500 },
    )
  })
})

test("a payload decodes to a fresh value each time", () => {
  const payload = Payload.of(encodeValue({ list: [1] }))
  const first = payload.decode() as { list: number[] }
  first.list.push(2)
  expect(payload.decode()).toEqual({ list: [1] })
  expect([payload.text, payload.length]).toEqual(['{"list":[1]}', 12])
  expect(Payload.of("")).toBe(Payload.undefined)
  expect(Payload.undefined.decode()).toBeUndefined()
})

function refusal(run: () => unknown): PerdureError {
  try {
    run()
  } catch (error) {
    if (PerdureError.is(error)) return error
    throw error
  }
  throw new Error("it was accepted")
}
