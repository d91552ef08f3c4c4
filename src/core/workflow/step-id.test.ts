import fc from "fast-check"
import { expect, test } from "vitest"
import { PerdureError } from "../errors.ts"
import { checkStepName, parentOf, stepId, stepName } from "./step-id.ts"

test.each([
  [undefined, "charge", 1, "charge"],
  [undefined, "charge", 2, "charge#2"],
  ["order", "charge", 1, "order/charge"],
  ["order#2", "a/b", 3, "order#2/a%2Fb#3"],
  [undefined, "100%#1", 1, "100%25%231"],
  [undefined, "%2F", 1, "%252F"],
])("inside %j, %j for the %d. time is %j", (parent, name, occurrence, id) => {
  expect(stepId(parent, name, occurrence)).toBe(id)
})

test("name and parent are read back from an id, and different steps have different ids", () => {
  const name = fc.string({
    unit: fc.oneof(fc.constantFrom("%", "/", "#", "2", "F"), fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 })),
    minLength: 1,
  })
  const step = fc.tuple(name, fc.integer({ min: 1, max: 12 }))
  const path = fc.array(step, { minLength: 1, maxLength: 4 })
  const idOf = (steps: [string, number][]) =>
    steps.reduce<string | undefined>((parent, [name, occurrence]) => stepId(parent, name, occurrence), undefined) as string
  fc.assert(
    fc.property(path, path, (one, other) => {
      const id = idOf(one)
      expect(stepName(id)).toBe(one.at(-1)![0])
      expect(parentOf(id)).toBe(one.length === 1 ? undefined : idOf(one.slice(0, -1)))
      expect(id === idOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
    }),
  )
})

test("a step name has 1 to 256 characters", () => {
  checkStepName("x")
  checkStepName("é/# ".repeat(64))
  for (const [name, problem] of [
    ["", /step name "" is empty; use 1 to 256/],
    ["x".repeat(257), /has 257 characters; at most 256/],
    [5 as unknown as string, /step name 5 is not a string/],
  ] as const) {
    expect(() => checkStepName(name)).toThrow(problem)
    expect(() => checkStepName(name)).toThrow(expect.toSatisfy((error) => PerdureError.is(error, "BAD_NAME")))
  }
  expect(() => checkStepName("four", 3)).toThrow(/at most 3/)
})
