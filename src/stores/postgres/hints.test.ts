import { expect, it } from "vitest"
import { fromPayload } from "./hint-flags.ts"
import { Hints } from "./hints.ts"
import type { PostgresPool } from "./pg.ts"

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const pool = { connect: () => Promise.reject(new Error("nobody is told afterwards")), end: () => Promise.resolve(), on() {} } as unknown as PostgresPool

it("who has messages is named within the transaction where it is quiet, and afterwards where many are delivered one after another", async () => {
  const hints = new Hints(pool, undefined, "some", silent)
  expect(fromPayload(hints.mailWithin(["a", "b"]) ?? "").flags).toEqual(["ma", "mb"])
  expect(hints.mailWithin(["a"])).toBeUndefined()
  expect(hints.mailWithin(["a"])).toBeUndefined()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(hints.mailWithin(["a"])).toBeDefined()
  await hints.close()
})
