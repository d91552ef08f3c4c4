// A database with many sleeping and ended instances: the usual work of workers and users does not scan them. PostgreSQL itself counts the rows that
// were read by scans and by indexes, whatever the plans were.
//
//   LONG=1  has a million instances of each kind, and compares the times with an empty database

import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { Store } from "../../src/ports/store.ts"
import { postgres } from "../../src/stores/postgres/postgres-provider.ts"
import { claimBy, completed, creation, event, found, turn } from "../../src/testing/store-conformance/sample.ts"
import { crowdSchema, readsOf } from "../../tools/postgres/crowded-schema.ts"
import { EmptyDatabase } from "../../tools/postgres/empty-database.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

// A server of its own: an open transaction of another test in the same database would keep VACUUM from removing dead rows.
const own = new EmptyDatabase()
const database = new TestDatabase(10, own.url)
beforeAll(() => own.create())
afterAll(async () => {
  await database.drop()
  await own.drop()
})

const isLong = process.env["LONG"] === "1"
const size = isLong ? 1_000_000 : 100_000
const hour = 3_600_000

async function openStore(schema: string): Promise<Store & AsyncDisposable> {
  const pool = new pg.Pool({ connectionString: database.url, max: 4 })
  const store = await postgres({ pool, schema }).open({ now: Date.now, log: silentLogger, role: "worker" })
  return Object.assign(store, {
    async [Symbol.asyncDispose]() {
      await store.close()
      await pool.end()
    },
  })
}

let used = 0

/** The usual work of workers, with some instances of their own. */
async function work({ journal, directory }: Store): Promise<void> {
  const ids = Array.from({ length: 5 }, () => `mine-${++used}`)
  const now = Date.now()
  await journal.commit(ids.map((id) => creation(id, { createdAt: now, state: { status: "running", owner: "a" } })))
  await journal.commit(ids.map((id) => turn(id, 3, { at: now })))
  await journal.commit(ids.map((id) => turn(id, 4, { at: now, state: { status: "sleeping", run: 1, runPosition: 1, dueAt: now - 1 } })))
  expect(await journal.claim(claimBy({ limit: 50 }))).toHaveLength(5)
  expect(await journal.claim(claimBy({ limit: 50 }))).toEqual([])
  await directory.deliver([event(found(ids[0]))])
  expect(await journal.unread("a", 10)).toEqual([ids[0]])
  const [message] = await journal.readInbox([found(ids[0])])
  await journal.commit([turn(found(ids[0]), 5, { at: now, consumed: [found(message).seq] })])
  await journal.owned("a")
  await journal.renew("a", 30_000)
  await journal.nextDueAt(claimBy().offers)
  await journal.readJournal(found(ids[1]), 1)
  await journal.commit(ids.map((id, at) => turn(id, at === 0 ? 6 : 5, { at: now, state: completed, discardInbox: true })))
  await directory.remove(ids)
}

/** An event for one of the many sleeping instances: a worker claims the instance by its id, and the instance continues to sleep. */
async function wake({ journal, directory }: Store, asleep: string): Promise<void> {
  await directory.deliver([event(asleep)])
  expect(await journal.claim(claimBy({ ids: [asleep] }))).toHaveLength(1)
  await journal.release("a", [asleep])
  const follows = (await journal.readJournal(asleep, 1)).at(-1)?.turn
  expect(await journal.commit([turn(asleep, 3, { at: Date.now(), follows, discardInbox: true })])).toEqual(["committed"])
}

/** The usual reads of users. */
async function look({ directory }: Store, some: string): Promise<void> {
  const page = { limit: 20, order: "newest" } as const
  const first = await directory.list({}, page)
  if (first.cursor !== undefined) await directory.list({}, { ...page, cursor: first.cursor })
  await directory.list({ workflow: "order" }, page)
  await directory.list({ status: ["sleeping"] }, page)
  await directory.list({ workflow: "order", status: ["completed"] }, page)
  await directory.list({ tag: "crowd" }, page)
  await directory.list({ idPrefix: some }, page)
  await directory.list({ workflow: "order" }, { ...page, order: "oldest" })
  await directory.list({ workflow: "nobody" }, page)
  await directory.get(some)
  await directory.changes(await directory.latestChange(), 10)
  await directory.changes(undefined, 10, some)
}

/** From here on, the test chooses when the statistics of the tables are taken, and not the server. */
async function chooseMoments(schema: string): Promise<void> {
  for (const table of ["instance", "journal", "inbox", "tag"]) await database.pool.query(`ALTER TABLE ${schema}.${table} SET (autovacuum_enabled = off)`)
}

/** The rows that all this work reads, as the server counts them. */
async function cost(schema: string, run: () => Promise<void>): Promise<{ readonly sequential: number; readonly indexed: number }> {
  const before = await readsOf(database.pool, schema)
  await run()
  const after = await readsOf(database.pool, schema)
  return { sequential: after.sequential - before.sequential, indexed: after.indexed - before.indexed }
}

describe(`${size.toLocaleString("en-US")} instances that sleep and as many that have ended`, () => {
  it("are not looked through by claims, turns, messages, lists and changes", async () => {
    const schema = database.newSchema()
    await openStore(schema).then((store) => store[Symbol.asyncDispose]())
    await chooseMoments(schema)
    await crowdSchema(database.pool, schema, size, { from: Date.now() - 10 * size, wakeAt: Date.now() + hour })
    await database.pool.query(`VACUUM (ANALYZE) ${schema}.instance, ${schema}.journal, ${schema}.tag`)
    const { sequential, indexed } = await cost(schema, async () => {
      await using store = await openStore(schema)
      const some = `sleeping-${size - 7}`
      await work(store)
      await wake(store, some)
      await look(store, some)
    })
    // The inbox is nearly empty, so a scan of it costs as little as an index.
    expect(sequential).toBeLessThan(100)
    expect(indexed).toBeLessThan(2_000)
  })

  /** `isSeen`: an open transaction still sees the removed rows, and so does the planner. */
  it.each([
    { made: "when there were none", isSeen: false },
    { made: "of what was removed", isSeen: true },
  ])("are not looked through by plans that were made $made", async ({ isSeen }) => {
    const schema = database.newSchema()
    const reader = await database.pool.connect()
    if (isSeen) await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    const { sequential, indexed } = await cost(schema, async () => {
      await using store = await openStore(schema)
      await chooseMoments(schema)
      // As the server does by itself after a while. From then on, the planner takes the tables for empty.
      await work(store)
      await database.pool.query(`VACUUM (ANALYZE) ${schema}.instance, ${schema}.journal, ${schema}.tag`)
      await reader.query("ROLLBACK")
      reader.release()
      for (let times = 0; times < 8; times++) await work(store)
      await crowdSchema(database.pool, schema, size, { from: Date.now() - 10 * size, wakeAt: Date.now() + hour })
      // Lists are planned with each call.
      for (let times = 0; times < 5; times++) {
        await work(store)
        await wake(store, `sleeping-${size - times}`)
      }
    })
    // While the tables were empty, a scan cost as little as an index.
    expect(sequential).toBeLessThan(2_000)
    expect(indexed).toBeLessThan(20_000)
  })

  it("as new starts that all are due do not delay what wakes up: a claim finds it without looking through them", async () => {
    const schema = database.newSchema()
    await using store = await openStore(schema)
    await chooseMoments(schema)
    await crowdSchema(database.pool, schema, size, { from: Date.now() - 10 * size, wakeAt: Date.now() + hour })
    const late = `sleeping-${size - 7}`
    await database.pool.query(`UPDATE ${schema}.instance SET status = 'queued', due_at = created_at WHERE status = 'sleeping' AND id <> $1`, [late])
    await database.pool.query(`UPDATE ${schema}.instance SET due_at = $2 WHERE id = $1`, [late, Date.now() - 1])
    await database.pool.query(`VACUUM (ANALYZE) ${schema}.instance`)
    const { sequential, indexed } = await cost(schema, async () => {
      const woken = await store.journal.claim(claimBy({ limit: 5 }))
      expect(woken[0]?.instance.id).toBe(late)
      expect(woken).toHaveLength(5)
      expect(await store.journal.claim(claimBy({ limit: 5, startsMin: 1 }))).toHaveLength(5)
      await store.journal.nextDueAt(claimBy().offers)
    })
    expect(sequential).toBeLessThan(100)
    expect(indexed).toBeLessThan(200)
  })
})
