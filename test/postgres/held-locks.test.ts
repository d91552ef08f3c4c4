// Locks that are held for long: by a caller in an open transaction, by a frozen process, by transactions that came first.

import { setTimeout as delay } from "node:timers/promises"
import { Perdure, workflow } from "perdure"
import { postgres } from "perdure/postgres"
import pg, { type PoolClient } from "pg"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { Store } from "../../src/ports/store.ts"
import { Database } from "../../src/stores/postgres/connection/database.ts"
import { functionSetOf } from "../../src/stores/postgres/schema/function-set.ts"
import { Gate } from "../../src/testing/scenarios/gate.ts"
import { claimBy, completed, creation, event, idle, limited, slots, turn } from "../../src/testing/store-conformance/sample.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(20)
let schema: string
let store: Store

beforeEach(async () => {
  schema = database.newSchema()
  store = await postgres({ connectionString: database.url, schema, maxConnections: 4 }).open({ now: Date.now, log: silentLogger, role: "worker" })
})
afterEach(() => store.close())
afterAll(() => database.drop())

/** Calls `fn` while another transaction is open that has sent `statement`. */
async function whileOpen<T>(statement: string, fn: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await database.pool.connect()
  try {
    await client.query(`BEGIN; ${statement}`)
    return await fn(client)
  } finally {
    await client.query("ROLLBACK")
    client.release()
  }
}

const claimed = async (worker: string, leaseMs = 30_000) => (await store.journal.claim(claimBy({ worker, leaseMs }))).map(({ instance }) => instance.id)
const lockOf = (id: string) => `SELECT 1 FROM ${schema}.instance WHERE id = '${id}' FOR UPDATE`
const ownerOf = async (id: string) => (await database.pool.query<{ owner: string }>(`SELECT owner FROM ${schema}.instance WHERE id = $1`, [id])).rows[0]?.owner

/** The function that the connection which listens has called last, without its hash. */
async function calledLast(): Promise<string | undefined> {
  const { rows } = await database.pool.query<{ fn: string }>(
    `SELECT substring(query FROM '"${schema}"\\.(\\w+)_[0-9a-f]{8}') AS fn FROM pg_stat_activity
    WHERE query LIKE 'SELECT set_config(''lock_timeout''%"${schema}".%'`,
  )
  return rows[0]?.fn
}

/** Waits until the connection that listens is verified. Before that, no call goes over it. */
async function listening(): Promise<void> {
  do {
    await store.directory.deliver([event("free")])
    await delay(30)
  } while ((await calledLast()) === undefined)
}

describe("an instance that a caller has in an open transaction", () => {
  it("is waited for elsewhere than on the connection that listens, also by the first of its kind there, and others go on there", async () => {
    await store.journal.commit([creation("held"), creation("other"), creation("free")])
    await listening()
    let late: Promise<readonly string[]> | undefined
    await whileOpen(lockOf("held"), async () => {
      late = store.journal.commit([turn("held", 3, { state: idle })])
      while ((await calledLast()) !== "change_single_turn") await delay(5)
      await delay(100)
    })
    expect(await late).toEqual(["committed"])
    expect(await store.journal.commit([turn("other", 3, { state: idle })])).toEqual(["committed"])
    await delay(30)
    await store.directory.deliver([event("free")])
    expect(await calledLast()).toBe("deliver_and_notify")
  })

  it("gets a message when it is free, and until then its sender hears of others", async () => {
    const other = await postgres({ connectionString: database.url, schema }).open({ now: Date.now, log: silentLogger, role: "worker" })
    await store.journal.commit([creation("held"), creation("free")])
    const heard: string[] = []
    store.onPushedMessage?.(({ instance }) => heard.push(instance) > 0)
    await listening()
    const inbox = await store.journal.readInbox(["free"])
    await store.journal.commit([turn("free", 3, { consumed: inbox.map(({ seq }) => seq), state: idle })])
    let late: Promise<readonly string[]> | undefined
    await whileOpen(lockOf("held"), async () => {
      late = store.directory.deliver([event("held")])
      expect(await other.directory.deliver([event("free")])).toEqual(["delivered"])
      while (heard.length === 0) await delay(5)
    })
    expect(heard).toEqual(["free"])
    expect(await late).toEqual(["delivered"])
    expect((await store.journal.readInbox(["held"])).map(({ instance }) => instance)).toEqual(["held"])
    await other.close()
  })

  const kinds = {
    "without limits": (id: string) => creation(id, { state: { status: "queued", dueAt: 1_000_000 } }),
    "with limits": (id: string) => limited(id, [slots(5)]),
  }
  for (const [kind, create] of Object.entries(kinds)) {
    it(`is no hindrance to claims of others, ${kind}`, async () => {
      await store.journal.commit([create("held"), create("free")])
      await whileOpen(lockOf("held"), async () => expect(await claimed("a")).toEqual(["free"]))
      expect(await claimed("a")).toEqual(["held"])
    })

    it(`is no hindrance to taking over what a dead worker had, ${kind}`, async () => {
      await store.journal.commit([create("held"), create("free")])
      expect(await claimed("dead", 1)).toHaveLength(2)
      await delay(20)
      await whileOpen(lockOf("held"), async () => expect(await claimed("a")).toEqual(["free"]))
      expect(await claimed("a")).toEqual(["held"])
    })
  }
})

it("a caller's open transaction in which something was debounced again is no hindrance to others with the same limit", async () => {
  const settled = workflow(
    "settled",
    { debounce: { key: (input: string) => input, quiet: "3s" }, concurrency: { limit: 1 } },
    async (_, input: string) => input,
  )
  const engine = await Perdure.open({ store: postgres({ connectionString: database.url, schema }), workflows: [settled], log: silentLogger })
  const caller = await database.pool.connect()
  try {
    const first = await engine.start(settled, { input: "mine" })
    await caller.query("BEGIN")
    expect((await engine.start(settled, { input: "mine", transaction: caller })).id).toBe(first.id)
    expect(await (await engine.start(settled, { input: "other" })).result({ timeout: "20s" })).toBe("other")
    await caller.query("COMMIT")
    expect(await first.result({ timeout: "20s" })).toBe("mine")
  } finally {
    caller.release()
    await engine.close()
  }
})

it("what stands in line and is debounced again in a caller's transaction leaves the line, and comes back to it", async () => {
  const gate = new Gate()
  const settled = workflow("settled", { debounce: { key: (input: string) => input, quiet: "2s" }, concurrency: { limit: 1 } }, async (ctx, input: string) =>
    ctx.do("work", async () => {
      if (input === "holder") await gate.passed
      return input
    }),
  )
  const engine = await Perdure.open({ store: postgres({ connectionString: database.url, schema }), workflows: [settled], log: silentLogger })
  const caller = await database.pool.connect()
  const isQueued = async (id: string) =>
    (await database.pool.query<{ queued: boolean }>(`SELECT queued_for IS NOT NULL AS queued FROM ${schema}.instance WHERE id = $1`, [id])).rows[0]?.queued
  try {
    const holder = await engine.start(settled, { input: "holder" })
    while ((await holder.status()) !== "running") await delay(10)
    const { id } = await engine.start(settled, { input: "mine" })
    while ((await isQueued(id)) !== true) await delay(10)
    await caller.query("BEGIN")
    expect((await engine.start(settled, { input: "mine", transaction: caller })).id).toBe(id)
    await caller.query("COMMIT")
    expect(await isQueued(id)).toBe(false)
    while ((await isQueued(id)) !== true) await delay(10)
    gate.open()
    expect(await engine.get(id).result({ timeout: "20s" })).toBe("mine")
  } finally {
    gate.open()
    caller.release()
    await engine.close()
  }
})

it("what was let in is claimed, and begins, while somebody has the locks of flow control", async () => {
  await store.journal.commit([limited("first", [slots(1)]), limited("second", [slots(1)])])
  expect(await claimed("a")).toEqual(["first"])
  expect(await claimed("b")).toEqual([])
  expect(await store.journal.commit([turn("first", 3, { by: "a", state: completed })])).toEqual(["committed"])
  await whileOpen(`SELECT pg_advisory_xact_lock(hashtextextended('"${schema}"/order', 1))`, async () => {
    const [one] = await store.journal.claim(claimBy({ worker: "b" }))
    expect(one?.instance).toMatchObject({ id: "second", owner: "b", slots: "taken" })
    const running = { status: "running", owner: "b", run: 1, runPosition: 1 } as const
    expect(await store.journal.commit([turn("second", 3, { by: "b", state: running })])).toEqual(["committed"])
  })
  expect(await store.journal.commit([turn("second", 4, { by: "b", state: completed })])).toEqual(["committed"])
  expect((await database.pool.query(`SELECT 1 FROM ${schema}.slot`)).rows).toEqual([])
})

it("a worker that renews its lease while another waits to take over from it keeps what it has", async () => {
  await store.journal.commit([limited("i", [slots(5)])])
  expect(await claimed("slow", 1)).toEqual(["i"])
  await delay(20)
  const claim = await whileOpen(`SELECT pg_advisory_xact_lock(hashtextextended('"${schema}"/order', 1))`, async () => {
    const waiting = claimed("a")
    const isWaiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND ((classid::bigint << 32) | objid::bigint) = hashtextextended('"${schema}"/order', 1)`
    while ((await database.pool.query(isWaiting)).rows.length === 0) await delay(5)
    await store.journal.renew("slow", 30_000)
    return { waiting }
  })
  expect(await claim.waiting).toEqual([])
  expect(await ownerOf("i")).toBe("slow")
  const { rows } = await database.pool.query(`SELECT worker FROM ${schema}.lease`)
  expect(rows).toEqual([{ worker: "slow" }])
})

describe("a process that is frozen inside a transaction", () => {
  const setting = "SELECT current_setting('idle_in_transaction_session_timeout') AS value"

  it("keeps its locks for ten seconds at most, and the connection is as it was afterwards", async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    const before = (await pool.query(setting)).rows
    const inside = await new Database(pool, pg.types, `"${schema}"`).transaction((queries) => queries.all("setting", setting))
    expect(inside).toEqual([{ value: "10s" }])
    expect((await pool.query(setting)).rows).toEqual(before)
    await pool.end()
  })

  it("the user's function of a transaction may pause, and the turn after it may not", async () => {
    await database.pool.query(`CREATE TABLE ${schema}.seen (turn text, value text)`)
    await database.pool.query(`CREATE FUNCTION ${schema}.see() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO ${schema}.seen VALUES (NEW.entries, current_setting('idle_in_transaction_session_timeout'));
        RETURN NEW;
      END $$`)
    await database.pool.query(`CREATE TRIGGER see AFTER INSERT ON ${schema}.journal FOR EACH ROW EXECUTE FUNCTION ${schema}.see()`)
    const ask = workflow("ask", async (ctx) =>
      ctx.transaction("look", async (client: PoolClient) => (await client.query<{ value: string }>(setting)).rows[0]!.value),
    )
    const engine = await Perdure.open({ store: postgres({ connectionString: database.url, schema }), workflows: [ask], log: silentLogger })
    expect(await (await engine.start(ask)).result({ timeout: "10s" })).toBe("0")
    await engine.close()
    const { rows } = await database.pool.query<{ value: string }>(`SELECT value FROM ${schema}.seen WHERE turn LIKE '%"step.completed"%'`)
    expect(rows).toEqual([{ value: "10s" }])
  })
})

it("a deadlock of the turn itself is no failed attempt of a transaction: the same one is made again", async () => {
  await database.pool.query(`CREATE SEQUENCE ${schema}.times`)
  await database.pool.query(`CREATE FUNCTION ${schema}.collide() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF current_setting('application_name') = 'in step' AND nextval('${schema}.times') = 1 THEN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END IF;
      RETURN NEW;
    END $$`)
  await database.pool.query(`CREATE TRIGGER collide BEFORE INSERT ON ${schema}.journal FOR EACH ROW EXECUTE FUNCTION ${schema}.collide()`)
  const attempts: number[] = []
  const pay = workflow("pay", async (ctx) =>
    ctx.transaction("pay", async (client: PoolClient, { attempt }) => {
      attempts.push(attempt)
      await client.query("SELECT set_config('application_name', 'in step', true)")
      return "paid"
    }),
  )
  const engine = await Perdure.open({ store: postgres({ connectionString: database.url, schema }), workflows: [pay], log: silentLogger })
  expect(await (await engine.start(pay)).result({ timeout: "20s" })).toBe("paid")
  await engine.close()
  expect(attempts).toEqual([1, 1])
})

it("callers who have all connections of the engine's own pool can start in their transactions, also as the first thing", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 3 })
  const nap = workflow("nap", async () => "slept")
  const engine = await Perdure.open({ store: postgres({ pool, schema }), workflows: [nap], role: "client", log: silentLogger })
  const clients = [await pool.connect(), await pool.connect()]
  for (const client of clients) await client.query("BEGIN")
  const started = Promise.all(clients.map((transaction) => engine.start(nap, { transaction })))
  const first = await Promise.race([started.then(() => "started"), delay(5_000, "nobody has a connection")])
  for (const client of clients) {
    await client.query("COMMIT")
    client.release()
  }
  await engine.close()
  await pool.end()
  expect(first).toBe("started")
})

it("a pool that is too small is refused", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 })
  expect(() => postgres({ pool })).toThrow(expect.objectContaining({ code: "BAD_OPTION", message: expect.stringContaining("at least 3") as string }))
  await pool.end()
})

it("a unique key is had by whoever has its row", async () => {
  const take = async (key: number, ...names: string[]) => {
    const uniques = JSON.stringify(names.map((name) => ({ kind: "singleton", key: name })))
    return (await database.pool.query<{ taken: boolean }>(`SELECT ${functionSetOf(`"${schema}"`).names.acquireUniqueKeys}($1, $2) AS taken`, [uniques, key]))
      .rows[0]?.taken
  }
  expect(await take(1, "a", "b")).toBe(true)
  expect(await take(1, "a", "b")).toBe(true)
  expect(await take(2, "b")).toBe(false)
  expect(await take(2, "c")).toBe(true)
})
