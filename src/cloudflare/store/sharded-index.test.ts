import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { overriding } from "../../engine/method-overrides.ts"
import type { Change } from "../../core/journal/change.ts"
import type { Directory, Filter, PageRequest } from "../../ports/directory.ts"
import type { IndexChange, IndexShard } from "../../ports/cloudflare/index-shard.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { sqlite } from "../../sqlite.ts"
import { directoryCases } from "../../testing/store-conformance/directory-cases.ts"
import { StoreBed } from "../../testing/store-conformance/store-bed.ts"
import { NodeSqlDriver } from "../../stores/sqlite/driver/node-sql-driver.ts"
import { SqliteIndexShard } from "../../stores/sqlite/object/shards/sqlite-index-shard.ts"
import { ShardedChanges } from "./sharded-changes.ts"
import { ShardedIndex } from "./sharded-index.ts"
import { ShardLayout, type ShardOptions } from "./shard-layout.ts"

/** Shards by their names, each in a database of its own, as many as are asked for. */
class Fleet {
  readonly down = new Set<string>()
  readonly #shards = new Map<string, IndexShard>()

  readonly reach = (name: string): IndexShard => {
    if (this.down.has(name)) return new Proxy({} as IndexShard, { get: () => () => Promise.reject(new Error("out of order")) })
    const shard = this.#shards.get(name) ?? new SqliteIndexShard(new NodeSqlDriver(":memory:", ""), () => 0)
    this.#shards.set(name, shard)
    return shard
  }

  get names(): string[] {
    return [...this.#shards.keys()]
  }

  index(options: ShardOptions): ShardedIndex {
    return new ShardedIndex(new ShardLayout(options), this.reach)
  }

  changes(options: ShardOptions): ShardedChanges {
    return new ShardedChanges(new ShardLayout(options), this.reach)
  }

  async write(options: ShardOptions, row: InstanceRow, revision = 1, changes: readonly IndexChange[] = []): Promise<void> {
    await this.reach(new ShardLayout(options).shardOf(row.id)).indexWrite([{ row, revision, changes }])
  }
}

let fleet: Fleet
beforeEach(() => {
  fleet = new Fleet()
})

function row(id: string, more: Partial<InstanceRow> = {}): InstanceRow {
  const identity = { id, incarnation: `${id}~1`, workflow: "order", version: "1", createdAt: 100, tags: [] }
  return { ...identity, status: "running", run: 1, runPosition: 1, updatedAt: 100, ...more }
}

function change(position: number, at = position): IndexChange {
  return { position, run: 1, at, type: "workflow.started", data: {} }
}

async function listed(index: ShardedIndex, filter: Filter, page: Omit<PageRequest, "cursor">): Promise<InstanceRow[]> {
  const rows: InstanceRow[] = []
  let cursor: string | undefined
  do {
    const answer = await index.list(filter, { ...page, ...(cursor === undefined ? {} : { cursor }) })
    expect(answer.items.length).toBeLessThanOrEqual(page.limit)
    rows.push(...answer.items)
    cursor = answer.cursor
  } while (cursor !== undefined)
  return rows
}

async function readOn(changes: ShardedChanges, after: string | undefined, limit: number, instance?: string): Promise<{ changes: Change[]; cursor: string }> {
  const seen: Change[] = []
  for (let cursor = after; ;) {
    const page = await changes.read(cursor, limit, instance)
    seen.push(...page.changes)
    cursor = page.cursor
    if (page.changes.length === 0) return { changes: seen, cursor }
  }
}

const places = (changes: readonly Change[]) => changes.map(({ instance, position }) => `${instance} ${position}`)

describe("an index over several shards", () => {
  it("lists 10,000 instances of 8 shards in order through one cursor, either way", async () => {
    const options = { indexShards: 8 }
    const rows = Array.from({ length: 10_000 }, (_, at) => row(`order-${(at * 7_919) % 10_000}`, { createdAt: 1_000 + Math.floor(at / 13) }))
    const layout = new ShardLayout(options)
    for (const name of layout.names().flat()) {
      const some = rows.filter(({ id }) => layout.shardOf(id) === name)
      await fleet.reach(name).indexWrite(some.map((one) => ({ row: one, revision: 1, changes: [] })))
    }
    expect(fleet.names).toHaveLength(8)
    const expected = rows.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)).map(({ id }) => id)
    const index = fleet.index(options)
    expect((await listed(index, {}, { limit: 100, order: "oldest" })).map(({ id }) => id)).toEqual(expected)
    expect((await listed(index, {}, { limit: 1_000, order: "newest" })).map(({ id }) => id)).toEqual(expected.toReversed())
    expect(await index.count({}, "status")).toEqual({ running: 10_000 })
  })

  it("a page that ends where a shard ends says whether there is more", async () => {
    const options = { indexShards: 4 }
    for (let at = 0; at < 9; at++) await fleet.write(options, row(`i${at}`))
    const index = fleet.index(options)
    for (const limit of [1, 2, 3, 4, 8]) {
      const page = await index.list({}, { limit, order: "oldest" })
      expect(page.items).toHaveLength(limit)
      expect(page.cursor).toEqual(expect.any(String))
    }
    for (const limit of [9, 10]) expect(await index.list({}, { limit, order: "oldest" })).not.toHaveProperty("cursor")
  })

  it("keeps all that was there when the number of shards is raised, and shows nothing twice", async () => {
    const before = { indexShards: 3 }
    const after = { indexShards: 8, previousShards: 3 }
    const ids = Array.from({ length: 200 }, (_, at) => `i${String(at).padStart(3, "0")}`)
    for (const id of ids) await fleet.write(before, row(id), 4)
    const index = fleet.index(after)
    expect((await listed(index, {}, { limit: 7, order: "oldest" })).map(({ id }) => id)).toEqual(ids)
    // Some move: in between they are in both.
    for (const id of ids.slice(0, 100)) await fleet.write(after, row(id, { status: "completed" }), 9)
    for (const order of ["oldest", "newest"] as const) {
      for (const limit of [1, 3, 50, 1_000]) {
        const rows = await listed(index, {}, { limit, order })
        expect(rows.map(({ id }) => id)).toEqual(order === "oldest" ? ids : ids.toReversed())
        expect(rows.filter(({ status }) => status === "completed")).toHaveLength(100)
      }
    }
    for (const id of ids.slice(0, 100)) await fleet.reach(new ShardLayout(before).shardOf(id)).indexRemove([{ id, incarnation: `${id}~1`, movedAt: 9 }])
    expect(await index.count({}, "status")).toEqual({ running: 100, completed: 100 })
    expect((await listed(index, { status: ["running"] }, { limit: 9, order: "oldest" })).map(({ id }) => id)).toEqual(ids.slice(100))
  })

  it("says which shard did not answer", async () => {
    const options = { indexShards: 4 }
    for (let at = 0; at < 40; at++) await fleet.write(options, row(`i${at}`), 1, [change(1)])
    fleet.down.add("@index:4:2")
    const failure = { code: "SHARD_FAILED", details: { shard: "@index:4:2" }, message: expect.stringContaining("@index:4:2") as string }
    await expect(fleet.index(options).list({}, { limit: 5, order: "oldest" })).rejects.toMatchObject(failure)
    await expect(fleet.index(options).count({}, "workflow")).rejects.toMatchObject(failure)
    await expect(fleet.changes(options).read(undefined, 10)).rejects.toMatchObject(failure)
    await expect(fleet.changes(options).latest()).rejects.toMatchObject(failure)
    fleet.down.clear()
    expect(await listed(fleet.index(options), {}, { limit: 5, order: "oldest" })).toHaveLength(40)
  })

  it("a cursor that is none is the caller's mistake, not a shard's", async () => {
    for (const cursor of ["", "nonsense", "%%%"])
      await expect(fleet.index({}).list({}, { limit: 1, order: "newest", cursor })).rejects.toMatchObject({ code: "BAD_OPTION" })
  })
})

describe("changes over several shards", () => {
  const options = { indexShards: 4 }

  it("go on from the cursor of every change and of every page, without a gap and without a repeat", async () => {
    for (let position = 1; position <= 5; position++) for (let at = 0; at < 12; at++) await fleet.write(options, row(`i${at}`), position, [change(position)])
    const changes = fleet.changes(options)
    const all = await readOn(changes, undefined, 100)
    expect(all.changes).toHaveLength(60)
    expect(all.changes.map(({ at }) => at)).toEqual(all.changes.map(({ at }) => at).toSorted((a, b) => a - b))
    expect(all.changes[0]).toEqual({
      id: expect.stringMatching(/~1:1$/) as string,
      cursor: expect.stringMatching(/^[^\s~]+$/) as string,
      type: "workflow.started",
      at: 1,
      instance: expect.any(String) as string,
      workflow: "order",
      version: "1",
      taskQueue: "default",
      run: 1,
      position: 1,
      data: {},
    })
    for (const limit of [1, 7, 100]) {
      for (const [at, { cursor }] of all.changes.entries()) {
        const rest = (await readOn(changes, cursor, limit)).changes
        expect(places(rest).toSorted()).toEqual(places(all.changes.slice(at + 1)).toSorted())
        for (const id of new Set(rest.map(({ instance }) => instance))) {
          const positions = rest.filter(({ instance }) => instance === id).map(({ position }) => position)
          expect(positions).toEqual(positions.toSorted((a, b) => a - b))
        }
      }
    }
    expect(await changes.latest()).toBe(all.cursor)
    expect((await changes.read(all.cursor, 10)).changes).toEqual([])
    await fleet.write(options, row("i3"), 6, [change(6)])
    expect(places((await changes.read(all.cursor, 10)).changes)).toEqual(["i3 6"])
  })

  it("of one instance are its own", async () => {
    for (let position = 1; position <= 4; position++) for (const id of ["a", "b", "c"]) await fleet.write(options, row(id), position, [change(position)])
    const changes = fleet.changes(options)
    const { changes: ofB, cursor } = await readOn(changes, undefined, 2, "b")
    expect(places(ofB)).toEqual(["b 1", "b 2", "b 3", "b 4"])
    await fleet.write(options, row("b"), 5, [change(5)])
    expect(places((await changes.read(cursor, 10, "b")).changes)).toEqual(["b 5"])
    expect((await changes.read(undefined, 10, "nobody")).changes).toEqual([])
  })

  it("of an empty index are none, and whoever read so far sees what comes", async () => {
    const changes = fleet.changes(options)
    const nothing = await changes.read(undefined, 10)
    expect(nothing.changes).toEqual([])
    expect(await changes.latest()).toBe(nothing.cursor)
    await fleet.write(options, row("a"), 1, [change(1)])
    expect(places((await changes.read(nothing.cursor, 10)).changes)).toEqual(["a 1"])
  })

  it("stay in order for each instance, and a cursor stays good, when the number of shards is raised", async () => {
    const raised = { indexShards: 8, previousShards: [4] }
    const ids = Array.from({ length: 10 }, (_, at) => `i${at}`)
    for (const position of [1, 2]) for (const id of ids) await fleet.write(options, row(id), position, [change(position, 50)])
    const half = (await fleet.changes(options).read(undefined, 9)).cursor
    // What came later has an earlier time, as clocks may have it.
    for (const id of ids) await fleet.write(raised, row(id), 3, [change(3, 10)])
    for (const limit of [1, 3, 100]) {
      const { changes: rest } = await readOn(fleet.changes(raised), half, limit)
      expect(rest).toHaveLength(21)
      const { changes: all } = await readOn(fleet.changes(raised), undefined, limit)
      for (const id of ids) expect(all.filter(({ instance }) => instance === id).map(({ position }) => position)).toEqual([1, 2, 3])
      for (const [at, { cursor }] of all.entries()) expect((await readOn(fleet.changes(raised), cursor, limit)).changes).toHaveLength(all.length - at - 1)
    }
    expect(places((await readOn(fleet.changes(raised), undefined, 2, "i4")).changes)).toEqual(["i4 1", "i4 2", "i4 3"])
  })

  it("refuse a cursor that is not of theirs", async () => {
    await fleet.write(options, row("a"), 1, [change(1)])
    const cursor = await fleet.changes(options).latest()
    const other = new Fleet()
    await other.write(options, row("a"), 1, [change(1)])
    for (const foreign of ["", "nonsense", "1.abc", `${cursor}0`, `${cursor}_`, cursor.replace(/-1-/, "-9-"), await other.changes(options).latest()])
      await expect(fleet.changes(options).read(foreign, 1)).rejects.toMatchObject({ code: "BAD_OPTION" })
  })
})

describe("a directory whose lists come from shards", () => {
  let bed: StoreBed | undefined
  const current = () => {
    if (bed === undefined) throw new Error("there is a bed only while a test runs")
    return bed
  }
  beforeEach(async () => {
    bed = new StoreBed({ name: "sharded", open: async (context) => sharded(await sqlite(":memory:").open(context)) })
    await bed.open()
  })
  afterEach(() => bed?.close())

  directoryCases(current)

  /** After each write, the shards are told. */
  function sharded(store: Store): Store {
    const options = { indexShards: 4 }
    const index = fleet.index(options)
    const directory: Directory = overriding(store.directory, {
      list: (filter: Filter, page: PageRequest) => index.list(filter, page),
      count: (filter: Filter, by: "status" | "workflow") => index.count(filter, by),
      remove: async (ids: readonly string[]) => {
        const rows = await Promise.all(ids.map((id) => store.directory.get(id)))
        const removed = await store.directory.remove(ids)
        for (const one of rows)
          if (one && removed.includes(one.id))
            await fleet.reach(new ShardLayout(options).shardOf(one.id)).indexRemove([{ id: one.id, incarnation: one.incarnation }])
        return removed
      },
    })
    const journal = overriding(store.journal, {
      commit: async (turns: Parameters<Store["journal"]["commit"]>[0]) => {
        const outcomes = await store.journal.commit(turns)
        for (const { instance, position, count } of turns) {
          const one = await store.directory.get(instance)
          if (one) await fleet.write(options, one, position + count)
        }
        return outcomes
      },
    })
    return overriding(store, { directory, journal })
  }
})
