import { describe, expect, it } from "vitest"
import { tableCreatedBy, ObjectReadCache, shapeOf } from "./object-read-cache.ts"

describe("the shape of a statement", () => {
  it.each([
    ["SELECT id FROM perdure_instance i WHERE i.id = ?", { reads: "perdure_instance", fills: "", writes: "" }],
    ["DELETE FROM perdure_inbox WHERE seq = ?", { reads: "perdure_inbox", fills: "", writes: "perdure_inbox" }],
    ["SELECT max(at) AS at FROM perdure_refused", { reads: "", writes: "" }],
    ["SELECT (SELECT 1 FROM perdure_slot) AS x FROM perdure_instance", { reads: "" }],
    ["SELECT id FROM perdure_instance UNION SELECT id FROM perdure_slot", { reads: "" }],
    ["INSERT OR IGNORE INTO perdure_refused (incarnation, at) VALUES (?, ?)", { reads: "", fills: "perdure_refused", writes: "perdure_refused" }],
    ["UPDATE perdure_instance SET limits = ? WHERE id = ?", { fills: "", writes: "perdure_instance", isOnLimits: true }],
    ["UPDATE perdure_instance SET owner = ? WHERE key = ?", { writes: "perdure_instance", isOnLimits: false }],
    ["INSERT INTO perdure_journal (a, b) VALUES (?, ?) ON CONFLICT DO NOTHING", { isInsertOfOne: true }],
    ["INSERT INTO perdure_journal (a, b) VALUES (?, ?), (?, ?) ON CONFLICT DO NOTHING", { isInsertOfOne: false }],
    ["DROP TABLE perdure_slot", { isDefinition: true }],
    ["SELECT name FROM users", { reads: "", writes: "", isDefinition: false }],
  ])("is told of %s", (sql, shape) => {
    expect(shapeOf(sql)).toMatchObject(shape)
  })

  it("a created table is empty, unless a query fills it", () => {
    expect(tableCreatedBy("CREATE TABLE perdure_slot (a TEXT)")).toBe("perdure_slot")
    expect(tableCreatedBy("CREATE TABLE perdure_slot AS SELECT 1")).toBeUndefined()
    expect(tableCreatedBy("CREATE INDEX perdure_slot_a ON perdure_slot (a)")).toBeUndefined()
  })
})

describe("the cache of a database", () => {
  it("reads the table names once, and knows the tables that are created later", () => {
    const cache = new ObjectReadCache()
    let looks = 0
    const look = () => {
      looks++
      return ["perdure_instance"]
    }
    expect([cache.hasTable("perdure_instance", look), cache.hasTable("perdure_slot", look)]).toEqual([true, false])
    cache.tableCreated("perdure_slot")
    expect([cache.hasTable("perdure_slot", look), looks]).toEqual([true, 1])
    expect([cache.neverHadRows("perdure_slot"), cache.neverHadRows("perdure_instance")]).toEqual([true, false])
    cache.afterStatement(shapeOf("INSERT INTO perdure_slot (a) VALUES (?)"), 1)
    expect(cache.neverHadRows("perdure_slot")).toBe(false)
  })

  it("reads a value again only after its table was written to", () => {
    const cache = new ObjectReadCache()
    let reads = 0
    const read = () => cache.getOrRead("status", "perdure_instance", () => ++reads)
    expect([read(), read()]).toEqual([1, 1])
    cache.afterStatement(shapeOf("INSERT INTO perdure_journal (a) VALUES (?)"), 1)
    cache.afterStatement(shapeOf("UPDATE perdure_instance SET owner = ?"), 0)
    expect(read()).toBe(1)
    cache.afterStatement(shapeOf("UPDATE perdure_instance SET owner = ?"), 1)
    expect([read(), read()]).toEqual([2, 2])
  })

  it("is cleared when a transaction fails or a table is altered", () => {
    const cache = new ObjectReadCache()
    let reads = 0
    const read = () => cache.getOrRead("status", "perdure_instance", () => ++reads)
    cache.tableCreated("perdure_slot")
    read()
    cache.clear()
    expect([read(), cache.neverHadRows("perdure_slot")]).toEqual([2, false])
    cache.afterStatement(shapeOf("ALTER TABLE perdure_instance ADD COLUMN x"), 0)
    expect(read()).toBe(3)
  })
})
