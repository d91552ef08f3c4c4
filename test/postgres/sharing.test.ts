// Sharing a database: roles with few rights, workers that start at once, and workers whose versions have different tables.

import { randomBytes } from "node:crypto"
import { type Context, Perdure, workflow } from "perdure"
import { postgres } from "perdure/postgres"
import pg, { type PoolClient } from "pg"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { Database } from "../../src/stores/postgres/connection/database.ts"
import { migrate } from "../../src/stores/postgres/schema/migrate.ts"
import { type Migration, migrations } from "../../src/stores/postgres/schema/schema.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(20)
const engines: Awaited<ReturnType<typeof Perdure.open>>[] = []
let schema: string

beforeEach(() => {
  schema = database.newSchema()
})
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})
afterAll(() => database.drop())

const echo = workflow(
  "echo",
  { concurrency: { limit: 5 }, singleton: { key: (input: string) => input } },
  async (ctx: Context<{ word: string }>, input: string) => {
    await ctx.sleep("nap", 10)
    return ctx.do("answer", async () => `${input} ${await Promise.resolve("heard")}`)
  },
)

async function open(connectionString = database.url, maxConnections = 4, workflows = [echo]) {
  const engine = await Perdure.open({ store: postgres({ connectionString, schema, maxConnections }), workflows, log: silentLogger })
  engines.push(engine)
  return engine
}

async function hasWorked(engine: Awaited<ReturnType<typeof open>>, input: string): Promise<void> {
  expect(await (await engine.start(echo, { input })).result({ timeout: "20s" })).toBe(`${input} heard`)
}

const newest = migrations.at(-1)!.version

/** What a later version of perdure might add: columns, an index and a table. */
const later: Migration = {
  version: newest + 1,
  compatible: newest,
  statements: (s) => [
    `ALTER TABLE ${s}.instance ADD COLUMN mood text`,
    `ALTER TABLE ${s}.journal ADD COLUMN size integer DEFAULT 0`,
    `CREATE INDEX instance_mood ON ${s}.instance (mood)`,
    `CREATE TABLE ${s}.mood (name text PRIMARY KEY)`,
  ],
}

describe("a role that may do little", () => {
  async function roleOf(setUp: (role: string) => readonly string[]): Promise<{ readonly role: string; readonly url: string }> {
    const role = `role_${randomBytes(4).toString("hex")}`
    const password = randomBytes(8).toString("hex")
    await database.pool.query(`CREATE ROLE ${role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '${password}'`)
    for (const statement of setUp(role)) await database.pool.query(statement)
    const address = new URL(database.url)
    address.username = role
    address.password = password
    return { role, url: address.href }
  }

  it("owns a schema that was made for it, and nothing else: it is enough for all that the engine does", async () => {
    const { role, url } = await roleOf((name) => [`CREATE SCHEMA ${schema} AUTHORIZATION ${name}`])
    const noted = workflow("noted", async (ctx) =>
      ctx.transaction("note", async (client: PoolClient) => {
        await client.query(`CREATE TABLE ${schema}.own (note text)`)
        await client.query(`INSERT INTO ${schema}.own VALUES ('once')`)
      }),
    )
    const engine = await open(url, 4, [echo, noted as never])
    await hasWorked(engine, "a")
    await (await engine.start(noted)).result({ timeout: "20s" })
    const own = new pg.Client({ connectionString: url })
    await own.connect()
    await own.query("BEGIN")
    const handle = await engine.start(echo, { input: "b", transaction: own })
    await own.query("COMMIT")
    expect(await handle.result({ timeout: "20s" })).toBe("b heard")
    expect((await own.query(`SELECT note FROM ${schema}.own`)).rows).toEqual([{ note: "once" }])
    await own.end()
    await engine.close()
    await database.pool.query(`DROP SCHEMA ${schema} CASCADE; DROP ROLE ${role}`)
  })

  it("may create schemas in the database: it makes its own", async () => {
    const name = (await database.pool.query<{ name: string }>("SELECT current_database() AS name")).rows[0]!.name
    const { role, url } = await roleOf((given) => [`GRANT CREATE ON DATABASE ${name} TO ${given}`])
    const engine = await open(url)
    await hasWorked(engine, "a")
    await engine.close()
    await database.pool.query(`DROP SCHEMA ${schema} CASCADE; REVOKE CREATE ON DATABASE ${name} FROM ${role}; DROP ROLE ${role}`)
  })
})

describe("workers of different versions", () => {
  const databaseOf = () => new Database(database.pool, pg.types, `"${schema}"`)

  it("an older worker goes on while ten newer ones migrate at once under its feet, and can be started beside them", async () => {
    const older = await open()
    await hasWorked(older, "before")
    const waiting = await older.start(echo, { input: "during", delay: 300 })
    await Promise.all(Array.from({ length: 10 }, () => migrate(databaseOf(), [...migrations, later])))
    const { rows } = await database.pool.query(`SELECT version, compatible FROM ${schema}.meta`)
    expect(rows).toEqual([{ version: newest + 1, compatible: newest }])
    expect(await waiting.result({ timeout: "20s" })).toBe("during heard")
    await hasWorked(older, "after")
    const another = await open()
    await hasWorked(another, "beside")
    expect((await another.list()).instances).toHaveLength(4)
  })

  it("a database from the future is refused with both versions named, and left as it is", async () => {
    await migrate(databaseOf(), [...migrations, { ...later, compatible: newest + 1 }])
    await expect(open()).rejects.toMatchObject({
      code: "DATABASE_TOO_NEW",
      message: expect.stringMatching(new RegExp(`version ${newest + 1}\\b.*up to ${newest}\\b`)) as string,
      details: { databaseVersion: newest + 1, knownVersion: newest },
    })
    expect((await database.pool.query(`SELECT version FROM ${schema}.meta`)).rows).toEqual([{ version: newest + 1 }])
  })
})
