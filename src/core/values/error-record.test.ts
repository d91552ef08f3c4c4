import { runInNewContext } from "node:vm"
import { expect, test } from "vitest"
import { decodeValue, encodeValue } from "./value-codec.ts"
import {
  CancelledError,
  ChildFailedError,
  EventTimeoutError,
  NonRetryableError,
  PerdureError,
  ResultTimeoutError,
  StepFailedError,
  TerminatedError,
} from "../errors.ts"

const roundTrip = <T>(value: T) => decodeValue(encodeValue(value)) as T

test.each([Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError])("a %o comes back as one", (type) => {
  const error = new type("no")
  const back = roundTrip(error)
  expect(back).toBeInstanceOf(type)
  expect(Object.getPrototypeOf(back)).toBe(type.prototype)
  expect([back.name, back.message, back.stack]).toEqual([type.name, "no", error.stack])
  expect(Object.keys(back)).toEqual([])
  expect("cause" in back).toBe(false)
})

test("cause and own data fields are kept, whatever they are", () => {
  const error = Object.assign(new Error("outer", { cause: new TypeError("inner", { cause: { at: new Date(5) } }) }), {
    code: "E_X",
    errno: -2,
    tags: new Set([1]),
  })
  const back = roundTrip(error)
  expect(back).toMatchObject({ code: "E_X", errno: -2, tags: new Set([1]) })
  expect(back.cause).toBeInstanceOf(TypeError)
  expect((back.cause as Error).cause).toEqual({ at: new Date(5) })
  expect(Object.keys(back)).toEqual(["code", "errno", "tags"])
  expect(roundTrip(new Error("x", { cause: undefined }))).toHaveProperty("cause", undefined)
})

test("an AggregateError keeps its errors", () => {
  const back = roundTrip(new AggregateError([new TypeError("a"), "b"], "both"))
  expect(back).toBeInstanceOf(AggregateError)
  expect(back.message).toBe("both")
  expect(back.errors[0]).toBeInstanceOf(TypeError)
  expect(back.errors[1]).toBe("b")
})

test("an error of a user's class is an Error of that name", () => {
  class PaymentDeclined extends Error {
    override readonly name = "PaymentDeclined"
    readonly amount = 5
  }
  const back = roundTrip(new PaymentDeclined("no funds"))
  expect(Object.getPrototypeOf(back)).toBe(Error.prototype)
  expect(back).toMatchObject({ name: "PaymentDeclined", message: "no funds", amount: 5 })
  expect(String(back)).toBe("PaymentDeclined: no funds")
})

test("a DOMException keeps name and message, which it has from its prototype", () => {
  for (const error of [new DOMException("stopped", "AbortError"), AbortSignal.abort().reason as Error, new DOMException("late", "TimeoutError")]) {
    const back = roundTrip(error)
    expect(back).toBeInstanceOf(Error)
    expect([back.name, back.message]).toEqual([error.name, error.message])
  }
})

test("an error of another realm is one of this", () => {
  const back = roundTrip(runInNewContext("new RangeError('far')") as Error)
  expect(back).toBeInstanceOf(RangeError)
  expect(back.message).toBe("far")
})

test.each([
  [new StepFailedError("charge", 3, new TypeError("x")), StepFailedError],
  [new ChildFailedError("c", { workflow: "w", status: "cancelled", reason: "x", cause: new CancelledError("c", "x") }), ChildFailedError],
  [new NonRetryableError("stop", { cause: "why" }), NonRetryableError],
  [new EventTimeoutError("wait", "paid"), EventTimeoutError],
  [new CancelledError("a"), CancelledError],
  [new TerminatedError("a", "because"), TerminatedError],
  [new ResultTimeoutError("a", 5), ResultTimeoutError],
  [new PerdureError("NOT_FOUND", "no such thing", { details: { id: "a" } }), PerdureError],
])("Perdure's own come back as their class: %s", (error, type) => {
  const back = roundTrip<PerdureError>(error)
  expect(back).toBeInstanceOf(type)
  expect(Object.getPrototypeOf(back)).toBe(type.prototype)
  expect(PerdureError.is(back, error.code)).toBe(true)
  for (const field of ["name", "message", "stack", "code", "details"] as const) expect(back[field]).toStrictEqual(error[field])
  expect(Object.keys(back)).toEqual(Object.keys(error))
  expect(back.cause).toEqual(error.cause)
})

test("a user's error does not get Perdure's brand by its name and code", () => {
  const fake = Object.assign(new Error("x"), { name: "CancelledError", code: "CANCELLED", details: {} })
  expect(PerdureError.is(roundTrip(fake))).toBe(false)
})

test("errors in a cycle are the same errors on both ways round", () => {
  const outer = Object.assign(new TypeError("outer"), { late: "field" })
  const inner = Object.assign(new NonRetryableError("inner", { cause: outer }), { self: {} })
  inner.self = inner
  outer.cause = inner
  const back = roundTrip(outer)
  const backInner = back.cause as typeof inner
  expect(backInner.cause).toBe(back)
  expect(backInner.self).toBe(backInner)
  expect(back).toMatchObject({ name: "TypeError", message: "outer", late: "field", stack: outer.stack })
  expect(PerdureError.is(backInner, "NON_RETRYABLE")).toBe(true)
})

test("an error without a stack does not get that of the codec", () => {
  const error = new TypeError("no")
  delete error.stack
  expect(roundTrip(error).stack).toBe("TypeError: no")
})
