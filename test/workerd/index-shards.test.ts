import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import type { ListFilter } from "perdure"
import { workflowClient } from "perdure/cloudflare"
import { afterEach, describe, expect, it } from "vitest"
import type { IndexShard, IndexUpdate } from "../../src/ports/cloudflare/index-shard.ts"
import type { InstanceRow } from "../../src/ports/journal-store.ts"
import { ShardLayout } from "../../src/cloudflare/store/shard-layout.ts"
import { soon, until } from "./eventually.ts"
import { faults, noting } from "./shard-runner.ts"

const { SHARD_RUNNER } = env as { readonly SHARD_RUNNER: DurableObjectNamespace }
const client = () => workflowClient(SHARD_RUNNER)
const stubOf = (name: string) => SHARD_RUNNER.get(SHARD_RUNNER.idFromName(name))

afterEach(() => {
  faults.down.clear()
  faults.isSlow = false
})

async function listed(filter: ListFilter = {}) {
  const found = []
  let cursor: string | undefined
  do {
    const page = await client().list({ limit: 100, order: "oldest", ...filter, ...(cursor === undefined ? {} : { cursor }) })
    found.push(...page.instances)
    cursor = page.cursor
  } while (cursor !== undefined)
  return found
}

/** Polls, because the index follows with a small delay. */
function eventually<T>(look: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  return soon(async () => {
    const value = await look()
    if (!isThere(value)) throw new Error(`never there: ${JSON.stringify(value).slice(0, 500)}`)
    return value
  })
}

/** Sends updates as instances would, but several in one call, because they are many. */
async function tellShards(count: number): Promise<void> {
  const layout = new ShardLayout({ indexShards: 8 })
  const byShard = new Map<string, IndexUpdate[]>()
  for (let at = 0; at < count; at++) {
    const id = `row-${at}`
    const row: InstanceRow = {
      ...{ id, incarnation: `${id}~1`, workflow: "told", version: "1", tags: at % 2 === 0 ? ["even"] : [] },
      // Some hundred instances share a millisecond, and the ids are not in the order of creation.
      ...{ createdAt: 1_000 + ((at * 7_919) % 40), updatedAt: 2_000, status: at % 3 === 0 ? "completed" : "waiting", run: 1, runPosition: 1 },
    }
    const shard = layout.shardOf(id)
    byShard.set(shard, [...(byShard.get(shard) ?? []), { row, revision: 1, changes: [] }])
  }
  expect(byShard.size).toBe(8)
  await Promise.all(
    [...byShard].map(async ([name, updates]) => {
      const shard = stubOf(name) as unknown as IndexShard
      for (let at = 0; at < updates.length; at += 500) await shard.indexWrite(updates.slice(at, at + 500))
    }),
  )
}

describe("the index of Durable Objects", () => {
  it("lists 10,000 instances of 8 shards in order through one cursor, either way and by filters", async () => {
    await tellShards(10_000)
    const places = (rows: Awaited<ReturnType<typeof listed>>) => rows.map(({ createdAt, id }) => [createdAt, id] as const)
    const inOrder = (all: ReturnType<typeof places>) => all.toSorted(([a, idA], [b, idB]) => a - b || (idA < idB ? -1 : 1))
    const oldest = places(await listed({ workflow: "told", limit: 700 }))
    expect(new Set(oldest.map(([, id]) => id)).size).toBe(10_000)
    expect(oldest).toEqual(inOrder(oldest))
    expect(places(await listed({ workflow: "told", limit: 1_000, order: "newest" }))).toEqual(oldest.toReversed())
    expect(await listed({ workflow: "told", limit: 1_000, tag: "even", status: "completed" })).toHaveLength(1_667)
    expect(await client().count({ workflow: "told" }, "status")).toEqual({ completed: 3_334, waiting: 6_666 })
    for (let shard = 0; shard < 8; shard++) {
      await runInDurableObject(stubOf(`@index:8:${shard}`), (_, { storage }) => void storage.sql.exec("DELETE FROM perdure_index_entry WHERE id LIKE 'row-%'"))
    }
  })

  it("lists instances with what became of them, and counts them", async () => {
    for (let at = 0; at < 30; at++) await client().start("quick", { id: `quick-${at}`, input: at, tags: [at % 2 === 0 ? "even" : "odd"] })
    await client().start("patient", { id: "patient-1", input: { name: "Ada" } })
    await eventually(
      () => client().count({}, "status"),
      (counts) => counts["completed"] === 30 && counts["waiting"] === 1,
    )
    const all = await listed()
    expect(all).toHaveLength(31)
    expect(all.map(({ createdAt }) => createdAt)).toEqual(all.map(({ createdAt }) => createdAt).toSorted((a, b) => a - b))
    expect(await listed({ workflow: "patient" })).toEqual([expect.objectContaining({ id: "patient-1", status: "waiting", version: "1", run: 1 })])
    expect(await listed({ tag: "odd", status: "completed" })).toHaveLength(15)
    expect(await listed({ idPrefix: "quick-1" })).toHaveLength(11)
    expect(await client().count({ tag: "even" }, "workflow")).toEqual({ quick: 15 })
  })

  it("forgets an instance that is deleted, and shows one that has its id after it", async () => {
    const handle = await client().start("quick", { id: "again", input: 1 })
    await handle.result()
    const incarnation = (await handle.describe()).incarnation
    await handle.delete()
    await eventually(
      () => listed({ idPrefix: "again" }),
      (rows) => rows.length === 0,
    )
    await client().start("patient", { id: "again", input: { name: "Bob" } })
    await eventually(
      () => listed({ idPrefix: "again" }),
      ([row]) => row?.workflow === "patient" && row.status === "waiting",
    )
    expect((await client().describe("again")).incarnation).not.toBe(incarnation)
  })

  it("is told later where a shard does not answer: workflows go on, the list says which shard it is, and nothing is lost", async () => {
    const before = (await listed()).length
    for (let shard = 0; shard < 8; shard += 2) faults.down.add(`@index:8:${shard}`)
    const ids = Array.from({ length: 12 }, (_, at) => `during-${at}`)
    for (const id of ids) await client().start("quick", { id, input: 2 })
    await eventually(
      () => Promise.all(ids.map((id) => client().get(id).status())),
      (statuses) => statuses.every((status) => status === "completed"),
    )
    await expect(client().list()).rejects.toMatchObject({ code: "SHARD_FAILED", details: { shard: expect.stringMatching(/^@index:8:[0246]$/) as string } })
    // Some objects are not in memory when the shard is back, and their alarm wakes them.
    for (const id of ids.slice(0, 6)) await runInDurableObject(stubOf(id), (_, state) => state.abort("out of memory")).catch(() => undefined)
    faults.down.clear()
    for (const id of ids) await runDurableObjectAlarm(stubOf(id))
    const rows = await eventually(
      () => listed({ idPrefix: "during-" }),
      (found) => found.length === 12 && found.every(({ status }) => status === "completed"),
    )
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(ids))
    expect(await listed()).toHaveLength(before + 12)
    const alarms = () => Promise.all(ids.map((id) => runInDurableObject(stubOf(id), (_, { storage }) => storage.getAlarm())))
    // No object has a retry left.
    await eventually(alarms, (all) => all.every((at) => at === null || at > Date.now() + 3_600_000))
  })

  it("tells what happens to instances, in order and each change once", async () => {
    const changes = client().changes("latest")[Symbol.asyncIterator]()
    const cursor = await changes.cursor()
    const handle = await client().start("patient", { id: "followed", input: { name: "Ada" } })
    await eventually(
      () => handle.status(),
      (status) => status === "waiting",
    )
    await handle.pause("lunch")
    await handle.resume()
    await handle.sendEvent("go")
    await handle.result()
    const seen = []
    for (;;) {
      const { value } = await changes.next()
      if (value?.instance === "followed") seen.push(value.type)
      if (value?.instance === "followed" && value.type === "workflow.completed") break
    }
    await changes.return()
    expect(seen).toEqual(["workflow.started", "workflow.paused", "workflow.resumed", "workflow.completed"])
    const again = []
    for await (const change of client().changes(cursor)) {
      again.push(change)
      if (change.type === "workflow.completed" && change.instance === "followed") break
    }
    expect(again.filter(({ instance }) => instance === "followed")).toHaveLength(4)
    expect(new Set(again.map(({ id }) => id)).size).toBe(again.length)
  })

  it("an instance itself tells of its steps as well", async () => {
    const handle = await client().start("patient", { id: "stepwise", input: { name: "Ada" } })
    const types = []
    for await (const { type } of handle.changes()) {
      types.push(type)
      if (type === "step.completed") break
    }
    expect(types).toEqual(["workflow.started", "step.started", "step.completed"])
  })

  it("refuses names that are kept for shards and the like, and what a shard holds stays", async () => {
    const before = await listed()
    for (const id of ["@index:8:0", "@schedule:a", "@limit:a", "@"]) {
      await expect(client().start("quick", { id, input: 1 })).rejects.toMatchObject({ code: "BAD_ID" })
      await expect(client().get(id).status()).rejects.toMatchObject({ code: "BAD_ID" })
      // A caller with the stub of a shard is refused, too.
      const refusal = await runInDurableObject(stubOf(id), async (object) => {
        try {
          return await (object as never as { initialize(request: object): Promise<unknown> }).initialize({ type: "quick", id, payload: 1 })
        } catch (error) {
          return error
        }
      })
      expect(refusal).toMatchObject({ code: "BAD_ID" })
    }
    expect(await listed()).toEqual(before)
  })

  it("hears of one that begins anew after it was over and out of memory, and takes in no change twice", async () => {
    const cursor = await client().changes("latest")[Symbol.asyncIterator]().cursor()
    const handle = await client().start("quick", { id: "anew", input: 2 })
    const isTold = (run: number) =>
      eventually(
        () => listed({ idPrefix: "anew" }),
        ([row]) => row?.status === "completed" && row.run === run,
      )
    await isTold(1)
    for (const run of [2, 3]) {
      await evictDurableObject(stubOf("anew"))
      await handle.restart()
      expect(await isTold(run)).toHaveLength(1)
    }
    const types: string[] = []
    for await (const { instance, type, run } of client().changes(cursor)) {
      if (instance === "anew") types.push(`${run} ${type}`)
      if (types.at(-1) === "3 workflow.completed") break
    }
    expect(types.length).toBeGreaterThanOrEqual(6)
    expect(types).toEqual([...new Set(types)])
  })

  it("hears of what is noted while it is being told of something else, also where a table of the user's is made meanwhile", async () => {
    faults.isSlow = true
    await client().start("noting", { id: "noting" })
    await until("a shard is told", () => faults.waiting > 0)
    noting.mayNote = true
    await until("it is noted", () => noting.hasNoted)
    faults.isSlow = false
    const rows = await eventually(
      () => listed({ idPrefix: "noting" }),
      ([row]) => row?.memo !== undefined,
    )
    expect(rows.map(({ status, memo }) => [status, memo])).toEqual([["running", { is: "noted" }]])
    noting.mayEnd = true
  })

  it("keeps everything listed when the number of shards is raised, and moves what goes on", async () => {
    const waiting = Array.from({ length: 10 }, (_, at) => `mover-${at}`)
    for (const id of waiting) await client().start("patient", { id, input: { name: id } })
    const before = await eventually(
      () => listed(),
      (rows) => rows.filter(({ id, status }) => id.startsWith("mover-") && status === "waiting").length === 10,
    )
    const cursor = await client().changes("latest")[Symbol.asyncIterator]().cursor()
    faults.layout = { indexShards: 11, previousShards: 8 }
    await Promise.all([...waiting, "$code"].map((id) => evictDurableObject(stubOf(id))))
    expect((await listed()).map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    for (const id of waiting) await client().get(id).sendEvent("go")
    for (const id of waiting) expect(await client().get(id).result()).toBe("gone")
    const after = await eventually(
      () => listed(),
      (rows) => rows.filter(({ id, status }) => id.startsWith("mover-") && status === "completed").length === 10,
    )
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    const inNew = async () => {
      const pages = await Promise.all(
        Array.from({ length: 11 }, (_, shard) =>
          (stubOf(`@index:11:${shard}`) as never as { indexList(request: object): Promise<{ items: { row: { id: string } }[] }> }).indexList({}),
        ),
      )
      return pages.flatMap(({ items }) => items.map(({ row }) => row.id)).toSorted()
    }
    expect(await inNew()).toEqual(waiting.toSorted())
    await eventually(
      () => client().count({}, "status"),
      (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0) === before.length,
    )
    const changed = new Map<string, string[]>()
    for await (const { instance, type } of client().changes(cursor)) {
      changed.set(instance, [...(changed.get(instance) ?? []), type])
      if (waiting.every((id) => changed.get(id)?.includes("workflow.completed"))) break
    }
    expect([...changed.keys()].toSorted()).toEqual(waiting.toSorted())
  })
})
