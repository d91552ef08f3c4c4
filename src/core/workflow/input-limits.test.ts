import { expect, test } from "vitest"
import { PerdureError, type ErrorCode } from "../errors.ts"
import { checkEventType, checkId, checkWorkflowName } from "./input-limits.ts"

const coded = (code: ErrorCode): unknown => expect.toSatisfy((error) => PerdureError.is(error, code))

test.each(["a", "_a", "9", "order-1.2:x@y_Z", "tenant=acme,order=17", "b3JkZXI=", "a~b", "A".repeat(256)])("%j is an id", (id) => {
  checkId(id)
})

test.each([
  ["", "is empty; use 1 to 256 characters"],
  [
    "a b",
    'id "a b" contains " " at character 2; an id begins with a letter (A to Z, a to z), a digit or _, and has up to 256 letters, digits and . _ : @ - ~ = ,',
  ],
  ["a/b", 'contains "/" at character 2; an id begins'],
  ["ada+1@example.com", 'contains "+" at character 4; an id begins'],
  ["order#7", 'contains "#" at character 6'],
  ["naïve", 'contains "ï" at character 3'],
  ["a😀", 'contains "😀" at character 2'],
  ["~a", 'begins with "~"; an id begins'],
  ["a\n", 'contains "\\n"'],
  ["-a", 'begins with "-"; an id begins with a letter'],
  [".a", 'begins with "."'],
  [":a", 'begins with ":"'],
  ["a".repeat(257), "has 257 characters; at most 256 are allowed"],
  [undefined as unknown as string, "id undefined is not a string"],
])("%j is no id, and the error says why", (id, problem) => {
  expect(() => checkId(id)).toThrow(problem)
  expect(() => checkId(id)).toThrow(coded("BAD_ID"))
})

test("a long name is cut in its error", () => {
  expect(() => checkId("a".repeat(5000))).toThrow(/^id "a{80}…" has 5000/)
})

test("a workflow name has at most 64 of the same characters", () => {
  checkWorkflowName("Order.v2")
  checkWorkflowName("w".repeat(64))
  expect(() => checkWorkflowName("a=b")).toThrow('contains "=" at character 2; a name begins with a letter')
  expect(() => checkWorkflowName("w".repeat(65))).toThrow(/workflow name .* at most 64/)
  expect(() => checkWorkflowName("my order")).toThrow(coded("BAD_NAME"))
  expect(() => checkWorkflowName("four", 3)).toThrow(/at most 3/)
  expect(() => checkWorkflowName("", Infinity)).toThrow(/workflow name "" is empty; use at least one character$/)
})

test("an event type has 1 to 100 characters of any kind", () => {
  checkEventType("payment received ✓")
  checkEventType("e".repeat(100))
  expect(() => checkEventType("")).toThrow(coded("BAD_NAME"))
  expect(() => checkEventType("e".repeat(101))).toThrow(/event type .* at most 100/)
})
