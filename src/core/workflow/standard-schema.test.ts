import { expect, expectTypeOf, test } from "vitest"
import { z } from "zod"
import { PerdureError } from "../errors.ts"
import { validate, type InferInput, type InferOutput, type StandardSchemaV1 } from "./standard-schema.ts"

const order = z.object({ id: z.string(), items: z.array(z.object({ price: z.number() })), "odd key": z.string().optional() })
const options = { code: "INVALID_INPUT", what: 'input of workflow "order"' } as const

test("a valid value comes back as the schema makes it, and at once", () => {
  expect(validate(order, { id: "a", items: [], more: 1 }, options)).toEqual({ id: "a", items: [] })
  expect(validate(z.string().default("x"), undefined, options)).toBe("x")
})

test("everything that is wrong is in the message and in the details", () => {
  let error: unknown
  try {
    validate(order, { items: [{ price: 1 }, { price: "2" }], "odd key": 5 }, options)
  } catch (thrown) {
    error = thrown
  }
  if (!PerdureError.is(error, "INVALID_INPUT")) throw error
  expect(error.details["issues"]).toEqual([
    { path: "id", message: expect.any(String) },
    { path: "items[1].price", message: expect.any(String) },
    { path: '["odd key"]', message: expect.any(String) },
  ])
  expect(error.message).toMatch(/^input of workflow "order" is not valid: id: .*; items\[1\]\.price: .*; \["odd key"\]: /)
})

test("an issue with the value itself has no path", () => {
  expect(() => validate(z.string({ error: "a text, please" }), 5, { code: "INVALID_EVENT", what: "event" })).toThrow(/^event is not valid: a text, please$/)
})

test("path segments may be objects, and keys symbols", () => {
  const schema: StandardSchemaV1 = {
    "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "no", path: [{ key: "a" }, Symbol("s"), 0] }] }) },
  }
  expect(() => validate(schema, {}, options)).toThrow(/not valid: a\.Symbol\(s\)\[0\]: no$/)
})

test("a schema that is asynchronous answers with a promise", async () => {
  const even = z.number().refine((n) => Promise.resolve(n % 2 === 0), "odd")
  const schema: StandardSchemaV1 = { "~standard": { version: 1, vendor: "test", validate: async (value) => await even["~standard"].validate(value) } }
  await expect(validate(schema, 2, options)).resolves.toBe(2)
  await expect(validate(schema, 3, options)).rejects.toThrow(/odd/)
})

test("types of input and output are inferred", () => {
  const length = z.string().transform((text) => text.length)
  expectTypeOf<InferInput<typeof length>>().toEqualTypeOf<string>()
  expectTypeOf<InferOutput<typeof length>>().toEqualTypeOf<number>()
})
