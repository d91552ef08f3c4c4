import { describe, expect, it } from "vitest"
import { checkId } from "../../core/workflow/input-limits.ts"
import { limitName, limitSettingsName, roleOpener, roleOf, scheduleName, shardName, taskQueueName } from "./object-name.ts"

describe("the name of an object", () => {
  it("says what the object is for", () => {
    expect(roleOf("order-17")).toEqual({ kind: "instance", id: "order-17" })
    expect(roleOf(shardName(8, 3))).toEqual({ kind: "shard", layout: 8, index: 3 })
    expect(roleOf(scheduleName("nightly:eu"))).toEqual({ kind: "schedule", id: "nightly:eu" })
    expect(roleOf(limitName("order/concurrency/a:b\n@c"))).toEqual({ kind: "limit", key: "order/concurrency/a:b\n@c" })
    expect(roleOf(limitSettingsName("order:eu"))).toEqual({ kind: "limit-settings", workflow: "order:eu" })
    expect(roleOf(taskQueueName("reports:eu"))).toEqual({ kind: "task-queue", queue: "reports:eu" })
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
      "@limit-settings:",
      "@task-queue:",
      "@other:1",
      "@Index:8:1",
    ])
      expect(() => roleOf(name)).toThrow(expect.objectContaining({ code: "BAD_ID" }))
  })

  it("cannot be an instance's id", () => {
    for (const name of [shardName(8, 0), scheduleName("a"), limitName("a"), taskQueueName("a"), "@anything"])
      expect(() => checkId(name)).toThrow(expect.objectContaining({ code: "BAD_ID" }))
    for (const id of ["index:8:0", "_", "a@index:8:0", "schedule:1"]) {
      expect(() => checkId(id)).not.toThrow()
      expect(roleOf(id)).toEqual({ kind: "instance", id })
    }
  })

  it("decides which part of the class the object is", () => {
    let made = 0
    const count = () => ++made
    const refused = expect.objectContaining({ code: "BAD_ID" }) as Error
    for (const kind of ["instance", "schedule", "limit"] as const) expect(roleOpener(shardName(8, 0), kind, count)).toThrow(refused)
    for (const kind of ["shard", "schedule", "limit"] as const) expect(roleOpener("order-1", kind, count)).toThrow(refused)
    expect(roleOpener("@nothing", "instance", count)).toThrow(refused)
    expect(made).toBe(0)
    const shard = roleOpener(shardName(8, 0), "shard", count)
    expect([shard(), shard(), made]).toEqual([1, 1, 1])
    expect(roleOpener(undefined, "shard", count)()).toBe(2)
  })
})
