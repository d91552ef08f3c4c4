// Versions of perdure whose functions differ share one database: each version calls its own functions, and unused functions are dropped.

import { type Context, Perdure, workflow } from "perdure"
import pg, { type PoolClient } from "pg"
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import { Database } from "../../src/stores/postgres/connection/database.ts"
import { quotedSchema } from "../../src/stores/postgres/connection/schema-name.ts"
import { openPostgresStore } from "../../src/stores/postgres/postgres-store.ts"
import { createFunctions } from "../../src/stores/postgres/schema/function-use.ts"
import { editedFunctionSet, functionSetOf, type FunctionSet } from "../../src/stores/postgres/schema/function-set.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(20)
let schema: string
let newer: FunctionSet
let older: FunctionSet
const engines: Awaited<ReturnType<typeof Perdure.open>>[] = []

const echo = workflow("echo", { singleton: { key: (input: string) => input } }, async (ctx: Context<{ word: string }>, input: string) => {
  await ctx.sleep("nap", 10)
  const event = await ctx.waitForEvent("word", { timeout: "20s" })
  return ctx.do("answer", () => `${input} ${event}`)
})

beforeEach(() => {
  schema = database.newSchema()
  newer = functionSetOf(quotedSchema(schema))
  older = editedFunctionSet(quotedSchema(schema), (text) => text.replace(/(LANGUAGE plpgsql[^$]*\$\$)/, "$1 -- as it was before\n"))
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const engine of engines.splice(0)) await engine.close()
})
afterAll(() => database.drop())

/** A store of a process whose code has these functions. */
function storeWith(functionSet: FunctionSet, connectionString = database.url): StoreProvider {
  return {
    name: "postgres",
    open: (context) => {
      const pool = new pg.Pool({ connectionString, max: 4 })
      return openPostgresStore({ pool, listenPool: pool, prepares: true, isGiven: false, types: pg.types, schema, functionSet, server: "here", context })
    },
  }
}

async function open(functionSet: FunctionSet, role: "worker" | "client" = "worker") {
  const engine = await Perdure.open({ store: storeWith(functionSet), workflows: [echo], role, log: silentLogger })
  engines.push(engine)
  return engine
}

type Engine = Awaited<ReturnType<typeof open>>

async function hasWorked(engine: Engine, input: string): Promise<void> {
  const handle = await engine.start(echo, { input })
  await handle.sendEvent("word", "heard")
  expect(await handle.result({ timeout: "20s" })).toBe(`${input} heard`)
}

async function stop(engine: Engine): Promise<void> {
  engines.splice(engines.indexOf(engine), 1)
  await engine.close()
}

/** The names of the functions in the schema. */
async function functionNames(): Promise<ReadonlySet<string>> {
  const { rows } = await database.pool.query<{ name: string }>(`SELECT proname AS name FROM pg_proc WHERE pronamespace = to_regnamespace($1)`, [schema])
  return new Set(rows.map(({ name }) => name))
}

const all = (set: FunctionSet) => new Set(set.definitions.map(({ name }) => name))
const databaseOf = (set: FunctionSet) => new Database(database.pool, pg.types, quotedSchema(schema), "here", true, set)

/** As if no process had noted the use of the set for so long. */
async function age(set: FunctionSet, days: number): Promise<void> {
  await database.pool.query(`UPDATE ${schema}.function_set SET used_at = used_at - make_interval(days => $1) WHERE hash = $2`, [days, set.hash])
}

it("workers of two versions, restarted in turn, work on one database, and each version calls its own functions", async () => {
  let before = await open(older)
  await hasWorked(before, "older")
  expect(await functionNames()).toEqual(all(older))
  let after = await open(newer)
  expect(await functionNames()).toEqual(new Set([...all(older), ...all(newer)]))
  for (const round of [1, 2, 3]) {
    await hasWorked(before, `older ${round}`)
    await hasWorked(after, `newer ${round}`)
    const shared = await before.start(echo, { input: `shared ${round}` })
    await stop(round % 2 === 0 ? before : after)
    await shared.sendEvent("word", "heard").catch(() => undefined)
    if (round % 2 === 0) before = await open(older)
    else after = await open(newer)
    const handle = after.get(shared.id)
    await handle.sendEvent("word", "again").catch(() => undefined)
    expect(await handle.result({ timeout: "20s" })).toMatch(/^shared \d (heard|again)$/)
  }
  const common = [...all(older)].filter((name) => all(newer).has(name))
  expect(common.length).toBeLessThan(all(older).size)
  await database.pool.query(
    [...all(newer)]
      .filter((name) => !all(older).has(name))
      .map((name) => `DROP FUNCTION ${schema}.${name}`)
      .join(";"),
  )
  await stop(after)
  await hasWorked(before, "older without the functions of the newer version")
})

it("opening a store when nothing is missing costs one look-up, and writes nothing", async () => {
  await stop(await open(newer))
  const noted = async () => (await database.pool.query<object>(`SELECT * FROM ${schema}.function_set`)).rows
  const rows = await noted()
  const transactions = vi.spyOn(Database.prototype, "transaction")
  const looks = vi.spyOn(Database.prototype, "get")
  await open(newer, "client")
  expect(looks.mock.calls.filter(([name]) => name === "functions")).toHaveLength(1)
  expect(transactions).not.toHaveBeenCalled()
  expect(await noted()).toEqual(rows)
})

it("functions that no process has noted for a week are dropped, and others stay", async () => {
  await stop(await open(older))
  await stop(await open(newer))
  await age(older, 6)
  await createFunctions(databaseOf(newer))
  expect(await functionNames()).toEqual(new Set([...all(older), ...all(newer)]))
  await age(older, 2)
  await database.pool.query(`CREATE FUNCTION ${schema}.users_own() RETURNS int LANGUAGE sql AS 'SELECT 1'`)
  await createFunctions(databaseOf(newer))
  expect(await functionNames()).toEqual(new Set([...all(newer), "users_own"]))
  expect((await database.pool.query<{ hash: string }>(`SELECT hash FROM ${schema}.function_set`)).rows).toEqual([{ hash: newer.hash }])
})

it.for(["worker", "client"] as const)("the store of a %s notes every hour which functions it uses, and opening a store renews an old note", async (role) => {
  const store = await storeWith(older).open({ now: Date.now, log: silentLogger, role })
  await age(older, 8)
  await store.directory.get("nobody")
  const start = performance.now()
  const clock = vi.spyOn(performance, "now").mockImplementation(() => start + 3_700_000)
  await store.directory.get("nobody")
  clock.mockRestore()
  const isFresh = async () =>
    (await database.pool.query(`SELECT 1 FROM ${schema}.function_set WHERE hash = $1 AND used_at > now() - interval '1 minute'`, [older.hash])).rows.length > 0
  await expect.poll(isFresh).toBe(true)
  await store.close()
  await age(older, 6)
  expect(await isFresh()).toBe(false)
  await open(older, "client")
  expect(await isFresh()).toBe(true)
})

it("a process whose functions were dropped creates them again, whatever it calls first", async () => {
  const worker = await open(newer)
  const client = await open(older, "client")
  await hasWorked(client, "before")
  // The client also calls functions by itself, when it polls: then it has created them again by the time of the look.
  const drop = async () => {
    await expect
      .poll(async () => {
        await age(older, 8)
        await createFunctions(databaseOf(newer))
        return functionNames()
      })
      .toEqual(all(newer))
  }
  await drop()
  await hasWorked(client, "a start")
  const handle = await worker.start(echo, { id: "i", input: "an event" })
  await drop()
  await client.get("i").sendEvent("word", "heard")
  expect(await handle.result({ timeout: "20s" })).toBe("an event heard")
  await drop()
  expect(await client.get("i").result()).toBe("an event heard")
  await drop()
  await expect(client.startBatch([1, 2, 3].map((n) => ({ workflow: echo, id: `batch-${n}`, input: `batch ${n}` })))).resolves.toHaveLength(3)
})

it("a caller's transaction fails with a clear error when the functions were dropped, and succeeds when it is repeated", async () => {
  await open(newer)
  const client = await open(older, "client")
  await age(older, 8)
  await createFunctions(databaseOf(newer))
  const start = async (transaction: PoolClient) => {
    await transaction.query("BEGIN")
    try {
      const handle = await client.start(echo, { input: "within", transaction })
      await transaction.query("COMMIT")
      return handle
    } catch (error) {
      await transaction.query("ROLLBACK")
      throw error
    }
  }
  const connection = await database.pool.connect()
  await expect(start(connection)).rejects.toMatchObject({ code: "STORE_FAILED", message: expect.stringContaining("try it again") as string })
  await expect.poll(async () => (await functionNames()).size).toBeGreaterThan(all(newer).size)
  const handle = await start(connection)
  connection.release()
  await handle.sendEvent("word", "heard")
  expect(await handle.result({ timeout: "20s" })).toBe("within heard")
})

it("a step's transaction is tried again when the functions were dropped meanwhile", async () => {
  const attempts: number[] = []
  const pay = workflow("pay", async (ctx) =>
    ctx.transaction("pay", async (_: PoolClient, { attempt }) => {
      attempts.push(attempt)
      if (attempts.length > 1) return "paid"
      await age(older, 8)
      await createFunctions(databaseOf(newer))
      return "paid"
    }),
  )
  const engine = await Perdure.open({ store: storeWith(older), workflows: [pay], log: silentLogger })
  engines.push(engine)
  expect(await (await engine.start(pay)).result({ timeout: "20s" })).toBe("paid")
  expect(attempts).toEqual([1, 1])
})

it("a role that may not create functions is told so, and works when an administrator has created them", async () => {
  const role = `role_${schema}`
  await database.pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)
  try {
    await stop(await open(older))
    await database.pool.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`)
    await database.pool.query(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`)
    const address = new URL(database.url)
    address.username = role
    address.password = "secret"
    const openAs = () => Perdure.open({ store: storeWith(newer, address.href), workflows: [echo], log: silentLogger })
    await expect(openAs()).rejects.toMatchObject({ code: "READ_ONLY", message: expect.stringContaining("perdure migrate") as string, details: { role } })
    await createFunctions(databaseOf(newer))
    const engine = await openAs()
    engines.push(engine)
    await hasWorked(engine, "as that role")
    await age(older, 8)
    await age(newer, 1)
    await stop(engine)
    await stop(await openAs())
    expect(await functionNames()).toEqual(new Set([...all(older), ...all(newer)]))
  } finally {
    await database.pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
  }
})
