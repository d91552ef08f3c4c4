import { expect, test } from "vitest"
import { decodeValue, encodeError } from "./value-codec.ts"
import { NonRetryableError, PerdureError } from "../errors.ts"

const roundTrip = (value: unknown) => decodeValue(encodeError(value))

test.each(["text", 5, null, undefined, { code: 1 }, [1], new Date(5)])("%j that is thrown stays what it is", (thrown) => {
  expect(roundTrip(thrown)).toStrictEqual(thrown)
})

test("members that cannot be stored are left out, and nothing else", () => {
  class Socket {}
  const cause = Object.assign(new TypeError("inner"), { socket: new Socket(), port: 5 })
  const error = Object.assign(new RangeError("outer", { cause }), {
    code: "E_X",
    retry: () => 1,
    config: { url: new URL("http://a/"), send() {}, list: [1, Symbol("s"), { ok: true, bad: new WeakMap() }] },
    sockets: new Set([new Socket()]),
    late: Promise.resolve(),
  })
  const back = roundTrip(error) as typeof error
  expect(back).toBeInstanceOf(RangeError)
  expect(dataOf(back)).toStrictEqual({ code: "E_X", config: { url: new URL("http://a/"), list: [1, undefined, { ok: true }] } })
  expect([back.message, back.stack]).toEqual(["outer", error.stack])
  expect(back.cause).toBeInstanceOf(TypeError)
  expect(dataOf(back.cause)).toStrictEqual({ port: 5 })
})

test("a Perdure error stays one", () => {
  const error = new NonRetryableError("stop", { cause: { run() {}, at: 5 } })
  const back = roundTrip(error) as NonRetryableError
  expect(PerdureError.is(back, "NON_RETRYABLE")).toBe(true)
  expect(back.cause).toStrictEqual({ at: 5 })
})

test("cycles are kept", () => {
  const error = Object.assign(new Error("round"), { run() {}, self: {}, list: [] as unknown[] })
  error.self = error
  error.list.push(error.list, error)
  const back = roundTrip(error) as typeof error
  expect(back.self).toBe(back)
  expect(back.list[0]).toBe(back.list)
  expect(back.list[1]).toBe(back)
})

test("a getter that throws is left out", () => {
  const error = Object.defineProperty(Object.assign(new Error("x"), { kept: 1 }), "worse", {
    enumerable: true,
    get: () => {
      throw new Error("worse")
    },
  })
  expect(dataOf(roundTrip(error))).toStrictEqual({ kept: 1 })
})

test.each<[string, unknown, string]>([
  ["a function", function stop() {}, "function stop() {"],
  ["a symbol", Symbol("s"), "Symbol(s)"],
  [
    "a class instance",
    new (class Oops {
      toString = () => "oops!"
    })(),
    "oops!",
  ],
  ["something without a text", Object.assign(Object.create(null), { run() {} }), "[object Object]"],
])("%s becomes an Error with its text", (_, thrown, text) => {
  const back = roundTrip(thrown)
  expect(back).toBeInstanceOf(Error)
  expect((back as Error).message).toContain(text)
})

test("one that is too large keeps its name, its code and the beginning of its message", () => {
  const error = Object.assign(new TypeError("m".repeat(100_000)), { code: "E_BIG", body: "b".repeat(9_000_000) })
  const text = encodeError(error)
  expect(text.length).toBeLessThan(100_000)
  const back = decodeValue(text) as typeof error
  expect(back).toBeInstanceOf(TypeError)
  expect(back).toMatchObject({ code: "E_BIG", message: `${"m".repeat(16 * 1024)}…` })
  expect((decodeValue(encodeError("t".repeat(9_000_000))) as Error).message).toHaveLength(16 * 1024 + 1)
})

test("nothing that can be thrown makes it throw", () => {
  let deep: unknown = { run() {} }
  for (let i = 0; i < 20_000; i++) deep = { deep }
  const hostile = new Proxy(new Error("x"), {
    get: () => {
      throw new Error("no")
    },
    ownKeys: () => {
      throw new Error("no")
    },
  })
  const nameless = Object.defineProperty(new Error("x"), "name", {
    get: () => {
      throw new Error("no")
    },
  })
  for (const thrown of [deep, Object.assign(new Error("x"), { deep }), hostile, nameless]) expect(roundTrip(thrown)).toBeInstanceOf(Error)
})

function dataOf(error: unknown): unknown {
  return Object.fromEntries(Object.entries(error as Error))
}
