// The answers of the HTTP API when PostgreSQL fails: they name neither the server, nor the database, nor the statement.

import { type Context, Perdure, workflow } from "perdure"
import { postgres } from "perdure/postgres"
import { afterAll, describe, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { askForAll, expectNoSecrets } from "../http-answers.ts"

const database = new TestDatabase(4)
afterAll(() => database.drop())

const flow = workflow("flow", async (ctx: Context) => ctx.waitForEvent("word"))

const { hostname, port, pathname, username } = new URL(database.url)
const words = [hostname, port, pathname.slice(1), username].filter((word) => word.length > 1).map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
const secrets = new RegExp(`${words.map((word) => `\\b${word}\\b`).join("|")}|127\\.0\\.0\\.1|SELECT|relation|PostgreSQL|ECONN|base/5|test_[0-9a-f]{12}`)

async function openEngine() {
  const schema = await database.emptySchema()
  const engine = await Perdure.open({
    store: postgres({ ...database.options, schema, maxConnections: 4 }),
    workflows: [flow],
    log: silentLogger,
    role: "client",
  })
  await engine.start(flow, { id: "waits" })
  return { schema, engine }
}

describe("the HTTP API on PostgreSQL", () => {
  it("answers each of these requests without a fault of the server while nothing is wrong", async () => {
    const { engine } = await openEngine()
    const { answers } = await askForAll(engine)
    expect(answers.filter(({ status }) => status >= 500)).toEqual([])
    expect(answers.filter(({ request, text }) => request.includes("%00") && !text.includes(`"instances":[]`))).toEqual([])
    await engine.close()
  })

  it("says nothing of a statement that fails", async () => {
    const { schema, engine } = await openEngine()
    for (const table of ["journal", "instance", "schedule"]) await database.pool.query(`ALTER TABLE ${schema}.${table} RENAME TO ${table}_away`)
    const seen = await askForAll(engine)
    expectNoSecrets(seen, secrets)
    expect(seen.answers.filter(({ status }) => status >= 500).length).toBeGreaterThan(10)
    expect(seen.log.some(({ error }) => String(error).includes("relation"))).toBe(true)
    for (const table of ["journal", "instance", "schedule"]) await database.pool.query(`ALTER TABLE ${schema}.${table}_away RENAME TO ${table}`)
    await engine.close()
  })

  it.each([
    ["server that is away", "STORE_UNREACHABLE", "ECONNREFUSED", `connect ECONNREFUSED ${hostname}:${port}`],
    ["database that does not exist", "DATABASE_UNREADABLE", "3D000", `database "${pathname.slice(1)}" does not exist`],
    ["user that is refused", "DATABASE_UNREADABLE", "28P01", `password authentication failed for user "${username}"`],
    ["disk that is full", "DISK_FULL", "53100", `could not extend file "base/5/1259" of relation "instance"`],
    ["role without rights", "READ_ONLY", "42501", `permission denied for relation instance of "${username}"`],
  ])("says nothing of a %s", async (_, wanted, code, message) => {
    const schema = await database.emptySchema()
    const { default: pg } = await import("pg")
    const pool = new pg.Pool({ connectionString: database.url, max: 4 })
    pool.on("error", () => undefined)
    const engine = await Perdure.open({ store: postgres({ pool, schema, listen: false }), workflows: [flow], log: silentLogger, role: "client" })
    await engine.start(flow, { id: "waits" })
    const away = () => Promise.reject(Object.assign(new Error(message), { code }))
    Object.assign(pool, { connect: (then?: (error: Error) => void) => (then ? void away().catch(then) : away()), query: away })
    const seen = await askForAll(engine)
    expectNoSecrets(seen, secrets)
    expect(seen.answers.filter(({ text }) => text.includes(wanted)).length).toBeGreaterThan(5)
    for (const method of ["connect", "query"]) Reflect.deleteProperty(pool, method)
    await engine.close()
    await pool.end()
  })
})
