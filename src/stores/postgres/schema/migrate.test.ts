import { randomBytes } from "node:crypto"
import pg from "pg"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { silentLogger } from "../../../hosts/silent-logger.ts"
import { fileServerUrl } from "../../../../tools/postgres/file-server.ts"
import type { StoreContext } from "../../../ports/store.ts"
import { Database } from "../connection/database.ts"
import { migrate } from "./migrate.ts"
import { postgres } from "../postgres-provider.ts"
import { type Migration, migrations } from "./schema.ts"

const context: StoreContext = { now: () => Date.now(), log: silentLogger, role: "worker" }
const url = fileServerUrl()
const pool = new pg.Pool({ connectionString: url, max: 10 })
const schemas: string[] = []
const newSchema = () => {
  const schema = `migrate_${randomBytes(6).toString("hex")}`
  schemas.push(schema)
  return schema
}
const databaseOf = (schema: string) => new Database(pool, pg.types, `"${schema}"`)
const versionOf = async (schema: string) => (await pool.query<{ version: number }>(`SELECT version FROM ${schema}.meta`)).rows.map(({ version }) => version)

beforeAll(async () => {
  await pool.query("SELECT 1")
})
afterAll(async () => {
  for (const schema of schemas) await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await pool.end()
})

describe("migrations", () => {
  it("ten workers that start at once on an empty database make one schema, and all of them work", async () => {
    const schema = newSchema()
    const stores = await Promise.all(Array.from({ length: 10 }, () => postgres({ connectionString: url, schema, maxConnections: 3 }).open(context)))
    const counts = await Promise.all(stores.map((store) => store.directory.count({}, "status")))
    await Promise.all(stores.map((store) => store.close()))
    expect(counts).toEqual(Array.from({ length: 10 }, () => ({})))
    expect(await versionOf(schema)).toEqual([migrations.at(-1)?.version])
  })

  it("of two that want other numbers of partitions at once, the one who comes second is refused", async () => {
    const schema = newSchema()
    const opened = await Promise.allSettled(
      [2, 4].map((partitions) => postgres({ connectionString: url, schema, partitions, maxConnections: 3 }).open(context)),
    )
    for (const one of opened) if (one.status === "fulfilled") await one.value.close()
    expect(opened.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    expect(opened.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "BAD_OPTION" } })
  })

  it("steps that were taken are not taken again, and one that fails leaves nothing behind", async () => {
    const schema = newSchema()
    const step = (version: number, statement: string): Migration => ({ version, compatible: 1, statements: () => [statement] })
    const first = step(1, `CREATE TABLE ${schema}.one (a int)`)
    await migrate(databaseOf(schema), [first])
    const bad: Migration = { version: 2, compatible: 1, statements: () => [`CREATE TABLE ${schema}.two (a int)`, "nonsense"] }
    await expect(migrate(databaseOf(schema), [first, bad])).rejects.toMatchObject({ code: "STORE_FAILED" })
    expect(await versionOf(schema)).toEqual([1])
    await migrate(databaseOf(schema), [first, step(2, `CREATE TABLE ${schema}.two (a int)`)])
    expect(await versionOf(schema)).toEqual([2])
  })

  it("a schema that is further ahead is used while it allows that, else it is refused with both versions named", async () => {
    const schema = newSchema()
    const step = (version: number, compatible: number): Migration => ({ version, compatible, statements: () => [] })
    await migrate(databaseOf(schema), [step(1, 1), step(7, 1)])
    await migrate(databaseOf(schema), [step(1, 1)])
    expect(await versionOf(schema)).toEqual([7])
    await migrate(databaseOf(schema), [step(7, 1), step(8, 8)])
    await expect(migrate(databaseOf(schema), [step(1, 1)])).rejects.toMatchObject({
      code: "DATABASE_TOO_NEW",
      message: expect.stringMatching(/8.*1/s) as string,
      details: { databaseVersion: 8, knownVersion: 1 },
    })
  })

  it("a role without any rights but those on a schema of its own is enough", async () => {
    const schema = newSchema()
    const role = `role_${randomBytes(4).toString("hex")}`
    const password = randomBytes(8).toString("hex")
    await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
    await pool.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${role}`)
    const address = new URL(url)
    address.username = role
    address.password = password
    const store = await postgres({ connectionString: address.href, schema }).open(context)
    expect(await store.directory.count({}, "status")).toEqual({})
    await store.close()
    const refused = postgres({ connectionString: address.href, schema: newSchema() }).open(context)
    await expect(refused).rejects.toMatchObject({ code: "READ_ONLY" })
    await pool.query(`DROP SCHEMA ${schema} CASCADE`)
    await pool.query(`DROP ROLE ${role}`)
  })
})
