// The change stream while transactions commit in another order than they began.

import { setTimeout as delay } from "node:timers/promises"
import { type Change, Perdure, workflow } from "perdure"
import { postgres } from "perdure/postgres"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { ChangeRow } from "../../src/ports/change-stream.ts"
import type { Store } from "../../src/ports/store.ts"
import { creation, turn } from "../../src/testing/store-conformance/sample.ts"
import { HoldingPool } from "../../tools/postgres/holding-pool.ts"
import { PostgresServer } from "../../tools/postgres/server.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

// A server of its own: transactions that stay open delay the changes of all databases on a server.
let server: PostgresServer
let database: TestDatabase
beforeAll(async () => {
  server = await PostgresServer.start(["fsync=off"])
  database = new TestDatabase(12, server.url)
})
const stores: Store[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  database.reset()
})
afterAll(async () => {
  await database.drop()
  await server.stop()
})

/** Several stores on one schema, as in several processes. */
async function processes(count: number): Promise<{ pools: HoldingPool[]; opened: Store[]; schema: string }> {
  const schema = await database.emptySchema()
  const pools = Array.from({ length: count }, () => new HoldingPool(database.pool))
  const opened: Store[] = []
  for (const pool of pools) opened.push(await postgres({ pool, schema }).open({ now: Date.now, log: silentLogger, role: "worker" }))
  stores.push(...opened)
  return { pools, opened, schema }
}

const places = (rows: readonly ChangeRow[]) => rows.map(({ instance, position }) => `${instance} ${position}`)

/** Reads on from its last place. */
class Reader {
  readonly seen: string[] = []
  readonly #directory: Store["directory"]
  readonly #instance: string | undefined
  #cursor: string | undefined

  constructor({ directory }: Store, instance?: string) {
    this.#directory = directory
    this.#instance = instance
  }

  async read(limit = 100): Promise<readonly string[]> {
    const { rows, cursor } = await this.#directory.changes(this.#cursor, limit, this.#instance)
    this.#cursor = cursor
    this.seen.push(...places(rows))
    return places(rows)
  }
}

it("nobody passes a transaction that is open: what landed after it began is read with it, by all readers alike", async () => {
  const {
    pools: [pool],
    opened: [slow, quick, third],
  } = await processes(3)
  await quick!.journal.commit([creation("before")])
  const readers = [new Reader(quick!), new Reader(third!)]
  for (const reader of readers) expect(await reader.read()).toEqual(["before 1"])
  const hold = pool!.holdNext()
  const held = slow!.journal.commit([creation("held")])
  await hold.written
  await quick!.journal.commit([creation("later")])
  await third!.journal.commit([creation("last"), turn("later", 3)])
  const own = new Reader(quick!, "later")
  // None of them sees the change: the follower at the end, a new follower, and the follower of an instance whose turn is committed.
  for (const reader of [...readers, own]) expect(await reader.read()).toEqual([])
  const newcomer = new Reader(third!)
  expect(await newcomer.read(1)).toEqual(["before 1"])
  expect(await newcomer.read()).toEqual([])
  const latest = await quick!.directory.latestChange()
  hold.release()
  expect(await held).toEqual(["committed"])
  for (const reader of [...readers, newcomer]) {
    await reader.read(2)
    await reader.read()
    expect(reader.seen).toEqual(["before 1", "held 1", "later 1", "last 1", "later 3"])
  }
  expect(places((await third!.directory.changes(latest, 100)).rows)).toEqual(["held 1", "later 1", "last 1", "later 3"])
  expect(await own.read()).toEqual(["later 1", "later 3"])
})

it("readers who never pause miss nothing and see nothing twice while transactions overlap at random", async () => {
  const { pools, opened } = await processes(4)
  const readers = opened.slice(0, 2).map((store) => new Reader(store))
  let writing = true
  const reading = readers.map(async (reader) => {
    while (writing) await reader.read(7)
    while ((await reader.read(7)).length > 0);
  })
  const written: string[] = []
  await Promise.all(
    opened.map(async (store, process) => {
      for (let n = 0; n < 12; n++) {
        const id = `${process}-${n}`
        const hold = n % 3 === 0 ? pools[process]!.holdNext() : undefined
        const commit = store.journal.commit([creation(id)])
        if (hold) {
          await hold.written
          await delay((process * 7 + n * 3) % 20)
          hold.release()
        }
        await commit
        await store.journal.commit([turn(id, 3), turn(id, 4)])
        written.push(`${id} 1`, `${id} 3`, `${id} 4`)
      }
    }),
  )
  writing = false
  await Promise.all(reading)
  for (const { seen } of readers) {
    expect(seen.toSorted()).toEqual(written.toSorted())
    for (const id of new Set(written.map((place) => place.split(" ")[0])))
      expect(seen.filter((place) => place.startsWith(`${id} `))).toEqual([`${id} 1`, `${id} 3`, `${id} 4`])
  }
  expect(readers[0]!.seen).toEqual(readers[1]!.seen)
})

it("whoever follows is given what an open transaction held back soon after it ends, although nobody tells of that", async () => {
  const flow = workflow("flow", async () => "done")
  const schema = await database.emptySchema()
  const worker = await Perdure.open({ store: database.ownStore(schema), workflows: [flow], log: silentLogger, sweep: "1h" })
  const client = await Perdure.open({ store: database.ownStore(schema), log: silentLogger, role: "client", sweep: "1h" })
  const stranger = await database.pool.connect()
  try {
    const seen: Record<"worker" | "client", Change[]> = { worker: [], client: [] }
    const follow = async (name: "worker" | "client", engine: typeof worker) => {
      for await (const change of engine.changes()) if (seen[name].push(change) === 4) return
    }
    const following = [follow("worker", worker), follow("client", client)]
    await worker.start(flow, { id: "first" })
    while (seen.client.length < 2 || seen.worker.length < 2) await delay(5)
    // A transaction of another program, which does not touch the store.
    await stranger.query("BEGIN")
    await stranger.query("SELECT pg_current_xact_id()")
    await worker.start(flow, { id: "second" })
    expect(await client.get("second").result()).toBe("done")
    await delay(1_500)
    expect([seen.worker.length, seen.client.length]).toEqual([2, 2])
    await stranger.query("COMMIT")
    await Promise.all(following)
    for (const changes of Object.values(seen))
      expect(changes.map(({ instance, type }) => `${instance} ${type}`)).toEqual([
        "first workflow.started",
        "first workflow.completed",
        "second workflow.started",
        "second workflow.completed",
      ])
  } finally {
    stranger.release()
    await client.close()
    await worker.close()
  }
})

it("rows that came from another server, with numbers that are still to come here, are numbered anew in their order, and cursors from there are refused", async () => {
  const schema = await database.emptySchema()
  const open = () => postgres({ pool: new HoldingPool(database.pool), schema }).open({ now: Date.now, log: silentLogger, role: "worker" })
  const before = await open()
  for (const id of ["a", "b", "c"]) await before.journal.commit([creation(id)])
  await before.journal.commit([turn("a", 3)])
  const { rows, cursor } = await before.directory.changes(undefined, 100)
  await before.close()
  await database.pool.query(`UPDATE ${schema}.journal SET xid = ((xid::text)::bigint + 1000000)::text::xid8`)
  const after = await open()
  stores.push(after)
  const again = await after.directory.changes(undefined, 100)
  expect(places(again.rows)).toEqual(places(rows))
  await expect(after.directory.changes(cursor, 100)).rejects.toMatchObject({ code: "BAD_OPTION" })
  await after.journal.commit([creation("d")])
  expect(places((await after.directory.changes(again.cursor, 100)).rows)).toEqual(["d 1"])
})

it("what a caller's transaction adds to an instance that is younger than the transaction comes after what the instance has", async () => {
  const settled = workflow("settled", { debounce: { quiet: "1h" } }, async (_, input: number) => input)
  const {
    opened: [store],
    schema,
  } = await processes(1)
  const engine = await Perdure.open({ store: database.ownStore(schema), workflows: [settled], log: silentLogger, role: "client" })
  const caller = await database.pool.connect()
  try {
    const follower = new Reader(store!)
    await caller.query("BEGIN; SELECT pg_current_xact_id()")
    const { id } = await engine.start(settled, { input: 1 })
    await engine.start(settled, { input: 2 })
    const ofOne = new Reader(store!, id)
    await engine.start(settled, { input: 3, transaction: caller })
    expect([await follower.read(), await ofOne.read()]).toEqual([[], []])
    await caller.query("COMMIT")
    await engine.start(settled, { input: 4 })
    // The changes of one instance, row by row: a follower continues behind the last row that it has read.
    while ((await ofOne.read(1)).length > 0);
    await follower.read()
    const positions = follower.seen.map((place) => Number(place.split(" ")[1]))
    expect(positions).toHaveLength(4)
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
    expect(ofOne.seen).toEqual(follower.seen)
  } finally {
    caller.release()
    await engine.close()
  }
})
