import { describe, expect, it } from "vitest"
import { checkId } from "../../core/limits.ts"
import { checkUnreserved, limitName, roleOf, scheduleName, shardName } from "./object-name.ts"

describe("the name of an object", () => {
  it("says what the object is for", () => {
    expect(roleOf("order-17")).toEqual({ kind: "instance", id: "order-17" })
    expect(roleOf(shardName(8, 3))).toEqual({ kind: "shard", layout: 8, index: 3 })
    expect(roleOf(scheduleName("nightly:eu"))).toEqual({ kind: "schedule", id: "nightly:eu" })
    expect(roleOf(limitName("order/concurrency/a:b\n@c"))).toEqual({ kind: "limit", key: "order/concurrency/a:b\n@c" })
  })

  it("is refused where it is of no kind, also a shard that no layout has", () => {
    for (const name of [
      "@",
      "@index",
      "@index:",
      "@index:8",
      "@index:8:8",
      "@index:08:1",
      "@index:8:01",
      "@index:0:0",
      "@index:8:-1",
      "@schedule:",
      "@other:1",
      "@Index:8:1",
    ])
      expect(() => roleOf(name)).toThrow(expect.objectContaining({ code: "BAD_ID" }))
  })

  it("cannot be an instance's id", () => {
    for (const name of [shardName(8, 0), scheduleName("a"), limitName("a"), "@anything"]) {
      expect(() => checkId(name)).toThrow(expect.objectContaining({ code: "BAD_ID" }))
      expect(() => checkUnreserved(name)).toThrow(expect.objectContaining({ code: "BAD_ID", details: { id: name, reserved: "@" } }))
    }
    for (const id of ["index:8:0", "_", "a@index:8:0", "schedule:1"]) expect(() => (checkId(id), checkUnreserved(id))).not.toThrow()
  })
})
