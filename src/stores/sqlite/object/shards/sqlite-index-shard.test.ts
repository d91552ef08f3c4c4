import { beforeEach, describe, expect, it } from "vitest"
import type { IndexChange, IndexUpdate } from "../../../../ports/cloudflare/index-shard.ts"
import type { InstanceRow } from "../../../../ports/journal-store.ts"
import { NodeSqlDriver } from "../../driver/node-sql-driver.ts"
import { SqliteIndexShard } from "./sqlite-index-shard.ts"

const day = 24 * 60 * 60 * 1_000
let now = 0
let driver: NodeSqlDriver
let shard: SqliteIndexShard

beforeEach(() => {
  now = 1_000_000
  driver = new NodeSqlDriver(":memory:", "")
  shard = new SqliteIndexShard(driver, () => now)
})

function row(id: string, more: Partial<InstanceRow> = {}): InstanceRow {
  const identity = { id, incarnation: `${id}~1`, workflow: "order", version: "1", createdAt: 100, tags: [] }
  return { ...identity, status: "running", run: 1, runPosition: 1, updatedAt: 100, ...more }
}

function update(id: string, revision: number, more: Partial<InstanceRow> = {}, changes: readonly IndexChange[] = []): IndexUpdate {
  return { row: row(id, more), revision, changes }
}

function change(position: number, type: IndexChange["type"] = "workflow.started"): IndexChange {
  return { position, run: 1, at: 100 + position, type, data: {} }
}

const statusesOf = async () => Object.fromEntries((await shard.indexList({})).items.map(({ row: { id, status } }) => [id, status]))
const positions = async (after = 0) => (await shard.indexChanges({ after, limit: 100 })).changes.map(({ instance, position }) => `${instance} ${position}`)

describe("an index shard", () => {
  it("keeps the newest copy, whatever order copies come in and however often", async () => {
    const first = update("a", 1, { status: "queued" })
    const second = update("a", 4, { status: "sleeping" })
    const third = update("a", 9, { status: "completed", endPosition: 9 })
    for (const order of [
      [first, second, third],
      [third, second, first],
      [second, first, third, first],
      [third, third, second, second],
    ]) {
      const other = new SqliteIndexShard(new NodeSqlDriver(":memory:", ""), () => now)
      for (const one of order) await other.indexWrite([one])
      expect((await other.indexList({})).items).toEqual([{ row: third.row, revision: 9 }])
      expect(await other.indexCount({}, "status")).toEqual({ completed: 1 })
    }
  })

  it("keeps the row of an instance, but not its owner", async () => {
    const whole = row("a", {
      phase: "cancelling",
      memo: `{"a":1}`,
      tags: ["x", "y"],
      queue: "far",
      dueAt: 7,
      deadlineAt: 8,
      flow: { priority: 3 },
      owner: "me",
    })
    await shard.indexWrite([{ row: whole, revision: 1, changes: [] }])
    const { owner: _, ...rest } = whole
    expect((await shard.indexList({})).items[0]?.row).toEqual(rest)
  })

  it("finds an instance by the tags that it has now", async () => {
    await shard.indexWrite([update("a", 1, { tags: ["old", "both"] })])
    await shard.indexWrite([update("a", 2, { tags: ["both", "new"] })])
    const tagged = async (tag: string) => (await shard.indexList({ tag })).items.length
    expect([await tagged("old"), await tagged("both"), await tagged("new")]).toEqual([0, 1, 1])
  })

  it("ignores a late copy of a removed instance", async () => {
    await shard.indexWrite([update("a", 5, { tags: ["t"] }, [change(1)])])
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    await shard.indexWrite([update("a", 9, {}, [change(9)])])
    expect((await shard.indexList({})).items).toEqual([])
    expect((await shard.indexList({ tag: "t" })).items).toEqual([])
    expect(await positions()).toEqual([])
  })

  it("remembers a removal that comes before the instance", async () => {
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    await shard.indexWrite([update("a", 1, {}, [change(1)])])
    expect((await shard.indexList({})).items).toEqual([])
    expect(await positions()).toEqual([])
  })

  it("tells the incarnations of one id apart", async () => {
    const second = { incarnation: "a~2", createdAt: 200 }
    await shard.indexWrite([update("a", 50, { status: "completed" }, [change(1)])])
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    await shard.indexWrite([update("a", 1, second, [change(1)])])
    // Late updates of the first incarnation.
    await shard.indexWrite([update("a", 60)])
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    expect((await shard.indexList({})).items.map(({ row: { incarnation } }) => incarnation)).toEqual(["a~2"])
    expect(await positions()).toEqual(["a 1"])
  })

  it("a later incarnation replaces an earlier one whose removal has not come yet, and never the reverse", async () => {
    await shard.indexWrite([update("a", 50)])
    await shard.indexWrite([update("a", 1, { incarnation: "a~2", createdAt: 200, status: "sleeping" })])
    await shard.indexWrite([update("a", 60)])
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    expect(await statusesOf()).toEqual({ a: "sleeping" })
  })

  it("an instance that moved away may come back with a newer copy, and its changes stay", async () => {
    await shard.indexWrite([update("a", 5, {}, [change(1), change(5)])])
    await shard.indexRemove([{ id: "a", incarnation: "a~1", movedAt: 5 }])
    await shard.indexWrite([update("a", 5)])
    expect(await statusesOf()).toEqual({})
    expect(await positions()).toEqual(["a 1", "a 5"])
    await shard.indexWrite([update("a", 8, { status: "waiting" }, [change(8)])])
    expect(await statusesOf()).toEqual({ a: "waiting" })
    // The removal is repeated.
    await shard.indexRemove([{ id: "a", incarnation: "a~1", movedAt: 5 }])
    expect(await statusesOf()).toEqual({ a: "waiting" })
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    expect(await positions()).toEqual([])
  })

  it("forgets instances that were removed long ago", async () => {
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    now += 6 * day
    await shard.indexRemove([{ id: "b", incarnation: "b~1" }])
    const remembered = () => driver.prepare("SELECT id FROM perdure_index_gone").all().length
    expect(remembered()).toBe(2)
    now += 2 * day
    await shard.indexRemove([{ id: "c", incarnation: "c~1" }])
    expect(remembered()).toBe(2)
  })

  it("writes a whole batch or nothing", async () => {
    const broken = { ...update("b", 1), row: { ...row("b"), status: undefined as never } }
    await expect(shard.indexWrite([update("a", 1, {}, [change(1)]), broken])).rejects.toThrow("cannot be bound")
    expect((await shard.indexList({})).items).toEqual([])
    expect(await positions()).toEqual([])
  })

  it("lists by creation and then by id, in both directions, page by page", async () => {
    const ids = Array.from({ length: 25 }, (_, at) => `i${String((at * 7) % 25).padStart(2, "0")}`)
    await shard.indexWrite(ids.map((id, at) => update(id, 1, { createdAt: 100 + (at % 3), status: at % 2 === 0 ? "running" : "failed" })))
    const oldest = (await shard.indexList({ limit: 100, order: "oldest" })).items.map(({ row: { id } }) => id)
    const created = (id: string) => 100 + (ids.indexOf(id) % 3)
    expect(oldest).toEqual(ids.toSorted((a, b) => created(a) - created(b) || (a < b ? -1 : 1)))
    for (const order of ["oldest", "newest"] as const) {
      for (const limit of [1, 4, 25]) {
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const page = await shard.indexList({ limit, order, status: ["running", "failed"], ...(cursor === undefined ? {} : { cursor }) })
          seen.push(...page.items.map(({ row: { id } }) => id))
          cursor = page.cursor
        } while (cursor !== undefined)
        expect(seen).toEqual(order === "oldest" ? oldest : oldest.toReversed())
      }
    }
  })

  it("accepts a workflow and one status under their names in the port", async () => {
    await shard.indexWrite([update("a", 1), update("b", 1, { workflow: "refund" }), update("c", 1, { workflow: "refund", status: "failed" })])
    expect((await shard.indexList({ type: "refund", status: "failed", limit: 5 })).items.map(({ row: { id } }) => id)).toEqual(["c"])
  })

  it("stores each change once, in the order of its instance", async () => {
    await shard.indexWrite([update("a", 3, {}, [change(1), change(3)]), update("b", 1, {}, [change(1)])])
    await shard.indexWrite([update("a", 6, {}, [change(1), change(3), change(6)])])
    await shard.indexWrite([update("a", 3, {}, [change(1), change(3)])])
    expect(await positions()).toEqual(["a 1", "a 3", "b 1", "a 6"])
  })

  it("never uses the number of a change again", async () => {
    await shard.indexWrite([update("a", 1, {}, [change(1)])])
    const { latest } = await shard.indexChanges({ after: 0, limit: 10 })
    await shard.indexRemove([{ id: "a", incarnation: "a~1" }])
    expect((await shard.indexChanges({ after: 0, limit: 10 })).latest).toBe(latest)
    await shard.indexWrite([update("b", 1, {}, [change(1)])])
    expect(await positions(latest)).toEqual(["b 1"])
  })

  it("keeps its content when it is opened again", async () => {
    await shard.indexWrite([update("a", 1, {}, [change(1)])])
    const { mark } = await shard.indexChanges({ after: 0, limit: 1 })
    shard = new SqliteIndexShard(driver, () => now)
    expect(await statusesOf()).toEqual({ a: "running" })
    expect((await shard.indexChanges({ after: 0, limit: 1 })).mark).toBe(mark)
  })

  it("answers each filter from an index", async () => {
    const plan = (sql: string) =>
      driver
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...Array.from({ length: (sql.match(/\?/g) ?? []).length }, () => 1))
        .map(({ detail }) => String(detail))
        .join("; ")
    const asked: string[] = []
    const prepare = driver.prepare.bind(driver)
    driver.prepare = (sql) => (asked.push(sql), prepare(sql))
    const place = (await shard.indexList({ limit: 1 })).cursor
    expect(place).toBeUndefined()
    for (const filter of [
      {},
      { status: "failed" },
      { type: "order" },
      { type: "order", status: "failed" },
      { tag: "t" },
      { queue: "far" },
      { since: 5 },
    ] as const)
      await shard.indexList(filter)
    driver.prepare = prepare
    for (const sql of asked.filter((one) => one.startsWith("SELECT e."))) expect(`${sql}: ${plan(sql)}`).not.toMatch(/SCAN e(;|$)|TEMP B-TREE/)
  })
})
