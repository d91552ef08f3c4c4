import * as devalue from "devalue"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { RichReader } from "./rich-reader.ts"
import { RichWriter } from "./rich-writer.ts"

const write = (value: unknown) => new RichWriter(() => undefined).write(value)
const read = (text: string) => new RichReader(text, {}).read()

/** References into one pool, so that some are referred to more than once. */
const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withSparseArray: true,
  withNullPrototype: true,
  key: fc.string({ unit: "binary" }).filter((key) => key !== "__proto__"),
  values: [
    fc.string({ unit: "binary" }),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(undefined, null, -0, "<b>", "\u2028", /a+/gi, new URL("https://a.example/?b=c")),
  ],
})

const shared = anything.chain((one) => anything.map((other) => [one, { one, other: [other, one] }, new Map([[other, one]])]))

describe("what the devalue package writes is written, and read, alike:", () => {
  it("for any value", () => {
    fc.assert(
      fc.property(fc.oneof(anything, shared), (value) => {
        const text = devalue.stringify(value)
        expect(write(value)).toBe(text)
        expect(read(text)).toStrictEqual(devalue.parse(text))
      }),
      { numRuns: 1_000 },
    )
  })

  const buffer = new Uint8Array([1, 2, 3, 255]).buffer
  const cycle: unknown[] = [1]
  cycle.push({ cycle }, new Set([cycle]))
  it.each<[string, unknown]>([
    ["a cycle", cycle],
    ["views of one buffer", [new Uint8Array(buffer), new DataView(buffer), buffer]],
    ["bytes of every length", [0, 1, 2, 3, 4, 100_000].map((length) => new Uint8Array(length).fill(251))],
    ["an invalid date", new Date(NaN)],
    ["search parameters", new URLSearchParams("a=1&b=%20")],
    ["a long array with few members", Object.assign([], { 7: "a", 1_000_000: "b" })],
    ["a short array with holes", Object.assign([], { 1: "a", 3: "b", length: 5 })],
    ["an array with other members", Object.assign([1, 2], { other: 3 })],
    ["an array with holes and other members", Object.assign([], { 3: 1, other: 3, 4294967295: 4 })],
    ["a generic object of another root", Object.create(Object.create(null) as object)],
    ["keys that are no names", { "a b": 1, "": 2, "<": 3, "\ud800": 4 }],
  ])("%s", (_, value) => {
    const text = devalue.stringify(value)
    expect(write(value)).toBe(text)
    expect(read(text)).toStrictEqual(devalue.parse(text))
  })
})

describe("text that nobody has written is refused:", () => {
  it.each([
    ["nothing", "[]"],
    ["a reference to nothing", "[[1]]"],
    ["a reference to what is no place", '[{"a":0.5}]'],
    ["a reference in words", '[["Set","a"]]'],
    ["a hole at the root", "-2"],
    ["a number at the root", "5"],
    ["a type that is not known", '[["Process",1],"a"]'],
    ["a prototype", '[{"__proto__":1},1]'],
    ["a prototype of none", '[["null","__proto__",1],1]'],
    ["a key that is no text", '[["null",1,1],1]'],
    ["a view of what is no buffer", '[["Uint8Array",1],1000000000]'],
    ["a view of itself", '[["Uint8Array",0]]'],
    ["a box around itself", '[["Object",0]]'],
    ["a box around nothing", '[["Object",-1]]'],
    ["bytes that are none", '[["ArrayBuffer","?"]]'],
    ["an array that is too long", "[[-7,4294967296]]"],
    ["a member behind the end of its array", "[[-7,1000,1000,1],1]"],
    ["a length that is none", "[[-7,-1]]"],
  ])("%s", (_, text) => {
    expect(() => read(text)).toThrow(/^it (is not in the form of|has a value of type)/)
  })

  it("what is revived out of itself", () => {
    expect(() => new RichReader('[["Own",0]]', { Own: (value) => value }).read()).toThrow("it is not in the form of a stored value")
  })
})

it("an array that says it is long takes no room before it has members", () => {
  const array = read("[[-7,4294967295,5,1],7]") as unknown[]
  expect([array.length, array[5], Object.keys(array)]).toEqual([4294967295, 7, ["5"]])
})
