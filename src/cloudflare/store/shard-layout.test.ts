import { describe, expect, it } from "vitest"
import { hashOf, ShardLayout } from "./shard-layout.ts"

describe("the layout of shards", () => {
  it("puts an id where it was put by every version before", () => {
    expect(["", "a", "order-1", "order-2", "ä€😀", "x".repeat(256)].map(hashOf)).toMatchInlineSnapshot(`
      [
        2872998923,
        444641715,
        2449496732,
        2010665664,
        119109006,
        2112340837,
      ]
    `)
    expect(new ShardLayout({ indexShards: 8 }).shardOf("order-1")).toMatchInlineSnapshot(`"@index:8:4"`)
  })

  it("spreads ids evenly, also those that only count up", () => {
    const counts = new Map<string, number>()
    const layout = new ShardLayout({ indexShards: 8 })
    for (let at = 0; at < 10_000; at++) counts.set(layout.shardOf(`order-${at}`), (counts.get(layout.shardOf(`order-${at}`)) ?? 0) + 1)
    expect(counts.size).toBe(8)
    for (const count of counts.values()) expect(Math.abs(count - 1_250)).toBeLessThan(150)
  })

  it("reads the present shards and those before them, each once", () => {
    const layout = new ShardLayout({ indexShards: 3, previousShards: [2, 3, 1] })
    expect(layout.names()).toEqual([["@index:3:0", "@index:3:1", "@index:3:2"], ["@index:2:0", "@index:2:1"], ["@index:1:0"]])
    expect(layout.names("a")).toEqual([[layout.shardOf("a")], [new ShardLayout({ indexShards: 2 }).shardOf("a")], ["@index:1:0"]])
    expect(new ShardLayout({ previousShards: 4 }).layouts).toEqual([8, 4])
  })

  it("refuses a number of shards that is none", () => {
    for (const indexShards of [0, -1, 1.5, Number.NaN, 1_001, "8" as never])
      expect(() => new ShardLayout({ indexShards })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    expect(() => new ShardLayout({ previousShards: [0] })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})
