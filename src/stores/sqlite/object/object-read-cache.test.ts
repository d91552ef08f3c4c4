import { describe, expect, it } from "vitest"
import { madeBy, ObjectReadCache, shapeOf } from "./object-read-cache.ts"

describe("what a statement is about", () => {
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

  it("a table is made empty, unless it is made of a query", () => {
    expect(madeBy("CREATE TABLE perdure_slot (a TEXT)")).toBe("perdure_slot")
    expect(madeBy("CREATE TABLE perdure_slot AS SELECT 1")).toBeUndefined()
    expect(madeBy("CREATE INDEX perdure_slot_a ON perdure_slot (a)")).toBeUndefined()
  })
})

describe("the memory of a database", () => {
  it("looks once which tables are there, and knows of those that are made", () => {
    const memory = new ObjectReadCache()
    let looks = 0
    const look = () => {
      looks++
      return ["perdure_instance"]
    }
    expect([memory.has("perdure_instance", look), memory.has("perdure_slot", look)]).toEqual([true, false])
    memory.made("perdure_slot")
    expect([memory.has("perdure_slot", look), looks]).toEqual([true, 1])
    expect([memory.isEmpty("perdure_slot"), memory.isEmpty("perdure_instance")]).toEqual([true, false])
    memory.ran(shapeOf("INSERT INTO perdure_slot (a) VALUES (?)"), 1)
    expect(memory.isEmpty("perdure_slot")).toBe(false)
  })

  it("reads again what was written, and nothing else", () => {
    const memory = new ObjectReadCache()
    let reads = 0
    const recall = () => memory.recall("status", "perdure_instance", () => ++reads)
    expect([recall(), recall()]).toEqual([1, 1])
    memory.ran(shapeOf("INSERT INTO perdure_journal (a) VALUES (?)"), 1)
    memory.ran(shapeOf("UPDATE perdure_instance SET owner = ?"), 0)
    expect(recall()).toBe(1)
    memory.ran(shapeOf("UPDATE perdure_instance SET owner = ?"), 1)
    expect([recall(), recall()]).toEqual([2, 2])
  })

  it("forgets everything where something did not happen, or a table changed", () => {
    const memory = new ObjectReadCache()
    let reads = 0
    const recall = () => memory.recall("status", "perdure_instance", () => ++reads)
    memory.made("perdure_slot")
    recall()
    memory.forget()
    expect([recall(), memory.isEmpty("perdure_slot")]).toEqual([2, false])
    memory.ran(shapeOf("ALTER TABLE perdure_instance ADD COLUMN x"), 0)
    expect(recall()).toBe(3)
  })
})
