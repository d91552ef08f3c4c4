import pg from "pg"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { silentLogger } from "../../hosts/silent-logger.ts"
import type { Message } from "../../ports/journal-store.ts"
import type { Hint, Store } from "../../ports/store.ts"
import type { NewTask, TaskStore } from "../../ports/task-store.ts"
import { creation, found, turn } from "../../testing/store-conformance/sample.ts"
import { postgres } from "./postgres-provider.ts"
import { TestDatabase } from "../../../tools/postgres/test-database.ts"

const database = new TestDatabase()
afterAll(() => database.drop())

let schema: string
const opened: Store[] = []
let first: Store
let second: Store

/** As another process would open it. */
const open = async () => {
  const store = await database.ownStore(schema).open({ now: Date.now, log: silentLogger, role: "worker" })
  opened.push(store)
  return store
}

beforeEach(async () => {
  schema = await database.emptySchema()
  first = await open()
  second = await open()
})

afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  database.reset()
})

const tasksOf = (store: Store): TaskStore => found(store.tasks)
const task = (id: string, more: Partial<NewTask> = {}): NewTask => ({
  id,
  step: "s",
  attempt: 1,
  activity: "reserve",
  queue: "warehouse",
  key: "k",
  input: "1",
  ...more,
})
const claimBy = (token: string, limit = 10) => ({ worker: token, token, activities: ["reserve", "ship"], limit, leaseMs: 30_000 })
const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)
const at = () => Date.now()

/** Collects what a store's hints say. `until` waits for one of the things. */
const heardBy = <T>(store: Store, read: (hint: Hint) => readonly T[]) => {
  const heard: T[] = []
  const waiting = new Set<() => void>()
  store.onHint((hint) => {
    if (hint) heard.push(...read(hint))
    for (const look of waiting) look()
  })
  const until = (wanted: T) =>
    new Promise<void>((resolve) => {
      const look = () => (heard.includes(wanted) ? resolve() : undefined)
      waiting.add(look)
      look()
    })
  return { heard, until }
}
const newTasks = ({ tasks }: Hint) => (tasks === true ? ["tasks"] : [])
const namedInstances = ({ work, ends }: Hint) => [work, ends].flatMap((named) => (typeof named === "boolean" ? [] : named))

describe("two processes with tasks", () => {
  it("claim at the same time, and get each task once and in order", async () => {
    const many = Array.from({ length: 300 }, (_, n) =>
      task(`t${String(n).padStart(3, "0")}`, { activity: n % 3 === 0 ? "ship" : "reserve", queue: `q${n % 2}` }),
    )
    await first.journal.commit([creation("i"), turn("i", 3, { at: at(), tasks: many })])
    const claims = await Promise.all(Array.from({ length: 40 }, (_, n) => tasksOf(n % 2 === 0 ? first : second).claim(claimBy(`k${n}`, 5))))
    for (const claimed of claims) expect(ids(claimed)).toEqual(ids(claimed).toSorted())
    const given = claims.flatMap(ids)
    expect(new Set(given).size).toBe(given.length)
    // Nobody goes away empty-handed while there are enough tasks.
    expect(claims.map((claimed) => claimed.length)).toEqual(claims.map(() => 5))
    for (const [n, claimed] of claims.entries()) expect(claimed.every(({ claim }) => claim.token === `k${n}`)).toBe(true)
  })

  it("claim from a queue with a rate at the same time, and get no more than the rate allows", async () => {
    const many = Array.from({ length: 30 }, (_, n) => task(`t${n}`))
    await first.journal.commit([creation("i"), turn("i", 3, { at: at(), tasks: many })])
    const request = (n: number) => ({ ...claimBy(`k${n}`, 2), queues: ["warehouse"], rate: { max: 7, perMs: 3_600_000 } })
    const claims = await Promise.all(Array.from({ length: 20 }, (_, n) => tasksOf(n % 2 === 0 ? first : second).claim(request(n))))
    expect(claims.flatMap(ids)).toHaveLength(7)
  })

  it("finish, expire, end and renew the same tasks at the same time: each task ends once", async () => {
    const instances = Array.from({ length: 8 }, (_, n) => `i${n}`)
    const names = instances.flatMap((id) => ["a", "b", "c"].map((letter) => `${id}-${letter}`))
    await first.journal.commit(instances.map((id) => creation(id)))
    const starts = instances.map((id) => turn(id, 3, { at: at(), tasks: ["a", "b", "c"].map((letter) => task(`${id}-${letter}`)) }))
    expect(await first.journal.commit(starts)).toEqual(instances.map(() => "committed"))
    expect(await tasksOf(second).claim(claimBy("k", 100))).toHaveLength(24)
    const end = (id: string) => ({ id, token: "k", ending: `{"value":"1"}`, completes: true })
    const renew = async () =>
      tasksOf(second).keep(
        [...names].toReversed().map((id) => ({ id, token: "k" })),
        30_000,
      )
    const [one, , other, , outcomes] = await Promise.all([
      tasksOf(first).finish(names.map(end)),
      renew(),
      tasksOf(second).finish([...names].toReversed().map(end)),
      renew(),
      first.journal.commit(instances.map((id) => turn(id, 4, { at: at(), endsTasks: [`${id}-b`] }))),
      tasksOf(second).expire(10),
    ])
    expect(outcomes).toEqual(instances.map(() => "committed"))
    const finished = [...one, ...other].filter((outcome) => outcome === "finished").length
    const messages = await first.journal.readInbox(instances)
    expect(messages).toHaveLength(finished)
    expect(new Set(messages.map(({ eventId }) => eventId)).size).toBe(finished)
    const mustArrive = names.filter((name) => !name.endsWith("b"))
    expect(messages.map(({ eventId }) => eventId)).toEqual(expect.arrayContaining(mustArrive))
    expect(await tasksOf(first).find(names)).toEqual([])
  })
})

describe("notifications of tasks", () => {
  it("tell the other processes of new tasks, and only of those", async () => {
    const { heard, until } = heardBy(second, newTasks)
    const own = heardBy(first, newTasks)
    const ended = heardBy(second, namedInstances)
    await first.journal.commit([creation("i"), turn("i", 3, { at: at() })])
    // Notifications arrive in the order of the turns.
    await first.journal.commit([creation("j"), turn("j", 3, { at: at(), state: { status: "completed", run: 1, runPosition: 1 } })])
    await ended.until("j")
    expect(heard).toEqual([])
    await first.journal.commit([turn("i", 4, { at: at(), tasks: [task("t1")] })])
    await until("tasks")
    expect(ids(await tasksOf(second).claim(claimBy("k")))).toEqual(["t1"])
    expect(own.heard).toEqual([])
  })

  it("of a caller's transaction arrive with its commit", async () => {
    const { heard, until } = heardBy(second, newTasks)
    const client = await database.pool.connect()
    await client.query("BEGIN")
    await found(first.callerTransactions).within(client, (within) => within.journal.commit([{ ...creation("i"), tasks: [task("t1")] }]))
    expect(await tasksOf(second).claim(claimBy("k"))).toEqual([])
    expect(heard).toEqual([])
    await client.query("COMMIT")
    client.release()
    await until("tasks")
    expect(ids(await tasksOf(second).claim(claimBy("k")))).toEqual(["t1"])
  })

  it("carry the ending itself if it is alone in its inbox, and else name the instances", async () => {
    const pushed: Message[] = []
    let tell = () => {}
    first.onPushedMessage?.((message) => {
      pushed.push(message)
      tell()
      return true
    })
    const named = heardBy(first, namedInstances)
    await first.journal.commit([creation("i"), creation("j")])
    await first.journal.commit([turn("i", 3, { at: at(), tasks: [task("t1"), task("t2")] }), turn("j", 3, { at: at(), tasks: [task("t3")] })])
    await tasksOf(second).claim(claimBy("k"))
    const end = (id: string) => ({ id, token: "k", ending: `{"value":"ü"}`, completes: true })
    const arrived = new Promise<void>((resolve) => (tell = resolve))
    expect(await tasksOf(second).finish([end("t1")])).toEqual(["finished"])
    await arrived
    const [stored] = await first.journal.readInbox(["i"])
    expect(pushed).toEqual([stored])
    expect(named.heard).toEqual([])
    expect(await tasksOf(second).finish([end("t2"), end("t3")])).toEqual(["finished", "finished"])
    await named.until("i")
    await named.until("j")
    expect(pushed).toHaveLength(1)
  })
})

describe("a table with many tasks", () => {
  it("is not read through by claims, renewals and endings, even on connections that used it when it was empty", async () => {
    // No other test has read the tables of this schema.
    schema = database.newSchema()
    const pool = new pg.Pool({ connectionString: database.url, max: 3, application_name: schema })
    const store = await postgres({ pool, schema }).open({ now: Date.now, log: silentLogger, role: "worker" })
    await database.pool.query(`ALTER TABLE ${schema}.task SET (autovacuum_enabled = off)`)
    const { journal } = store
    let next = 0
    const work = async () => {
      const id = `own${next++}`
      const names = ["a", "b", "c", "d"].map((letter) => `${id}-${letter}`)
      await journal.commit([creation(id), turn(id, 3, { at: at(), tasks: names.map((name) => task(name, { queue: "own" })) })])
      const claimed = await tasksOf(store).claim({ ...claimBy(id, 2), queues: ["own"] })
      expect(ids(claimed)).toEqual(names.slice(0, 2))
      await tasksOf(store).keep(
        claimed.map((each) => ({ id: each.id, token: id })),
        30_000,
      )
      expect(await tasksOf(store).finish([{ id: found(names[0]), token: id, ending: "{}", completes: true }])).toEqual(["finished"])
      await tasksOf(store).expire(10)
      await tasksOf(store).find(names)
      await journal.commit([turn(id, 4, { at: at(), endsTasks: [found(names[1])] })])
      await journal.commit([turn(id, 5, { at: at(), endsTasks: "all", state: { status: "completed", run: 1, runPosition: 1 }, discardInbox: true })])
      expect(await store.directory.remove([id])).toEqual([id])
    }
    for (let round = 0; round < 8; round++) await work()
    await database.pool.query(
      `INSERT INTO ${schema}.task (id, instance, incarnation, step, attempt, activity, queue, key, created_at, input, token, worker, claimed_at, heartbeat_at, lease_until, close_by)
      SELECT 'many' || n, 'some' || n % 100, 'x', 's', 1, 'reserve', 'far' || n % 5, 'k', 1, '', CASE WHEN n % 2 = 0 THEN 'c' END, 'w', 1, 1, 4000000000000, 4000000000000
      FROM generate_series(1, 20000) n`,
    )
    for (let round = 0; round < 8; round++) await work()
    await store.close()
    await pool.end()
    // The server counts the reads of a connection when its process ends.
    const processes = () => database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = $1`, [schema])
    await expect.poll(async () => (await processes()).rows.length).toBe(0)
    const { rows } = await database.pool.query<{ sequential: string; indexed: string }>(
      `SELECT (SELECT sum(t.seq_tup_read) FROM pg_stat_user_tables t WHERE t.schemaname = $1 AND t.relname = 'task') AS sequential,
        (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i WHERE i.schemaname = $1 AND i.relname = 'task') AS indexed`,
      [schema],
    )
    expect(Number(rows[0]?.sequential)).toBe(0)
    expect(Number(rows[0]?.indexed)).toBeGreaterThan(100)
    expect(Number(rows[0]?.indexed)).toBeLessThan(5_000)
  })
})
