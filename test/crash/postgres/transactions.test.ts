import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { silentLogger } from "../../../src/hosts/silent-logger.ts"
import { Perdure } from "../../../src/index.ts"
import { postgres } from "../../../src/postgres.ts"
import { PostgresServer } from "../../../tools/postgres/server.ts"
import type { Place, TransactionWorkerOptions } from "./transaction-worker.ts"

const long = process.env["LONG"] === "1"
const instances = long ? 100 : 6
const rounds = long ? 20 : 6
const deathsMax = long ? 200 : 6
const script = fileURLToPath(new URL("./transaction-worker.ts", import.meta.url))
const schema = "crash_transactions"

let server: PostgresServer
let pool: pg.Pool
const children = new Set<ChildProcess>()

beforeAll(async () => {
  server = await PostgresServer.start()
  pool = new pg.Pool({ connectionString: server.url, max: 3 })
  await pool.query(`CREATE SCHEMA ${schema}_own`)
  await pool.query(`CREATE TABLE ${schema}_own.effect (instance text NOT NULL, key text NOT NULL, nonce text NOT NULL)`)
  await pool.query(`CREATE TABLE ${schema}_own.total AS SELECT 0 AS sum`)
})
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL")
  await pool.end()
  await server.stop()
})

/** Returns where the process died, or undefined if it was told to end. */
async function live(deadly: Place | undefined, until: Promise<unknown>): Promise<unknown> {
  const options: TransactionWorkerOptions = { url: server.url, schema, deadly }
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  })
  children.add(child)
  let place: unknown
  child.on("message", (message) => (place = message))
  const exited = once(child, "exit")
  void until.then(() => child.kill("SIGTERM"))
  await exited
  children.delete(child)
  return place
}

it("a transaction is made exactly once, whether its worker dies before the commit or between the commit and its answer", async () => {
  const client = await Perdure.open({
    store: postgres({ connectionString: server.url, schema }),
    role: "client",
    log: silentLogger,
  })
  const ids = Array.from({ length: instances }, (_, n) => `i${n}`)
  await client.startBatch(ids.map((id) => ({ workflow: "ledgered", version: "1", allowUnknown: true, id, input: rounds })))
  const finished = Promise.all(ids.map((id) => client.get(id).result() as Promise<readonly string[]>))
  const deaths = { within: 0, after: 0 }
  let isDone = false
  void finished.then(() => (isDone = true))
  for (let died = 0; !isDone; died++) {
    // The last process is not killed.
    const place = await live(died >= deathsMax ? undefined : died % 2 === 0 ? "within" : "after", finished)
    if (place === "within" || place === "after") deaths[place]++
    const { rows } = await pool.query<{ keys: number; effects: number; sum: number }>(
      `SELECT count(DISTINCT key)::int AS keys, count(*)::int AS effects, (SELECT sum FROM ${schema}_own.total) AS sum FROM ${schema}_own.effect`,
    )
    expect([rows[0]!.keys, rows[0]!.sum]).toEqual([rows[0]!.effects, rows[0]!.effects])
  }
  const results = await finished
  const { rows } = await pool.query<{ instance: string; nonce: string }>(`SELECT instance, nonce FROM ${schema}_own.effect`)
  const recorded = results.flatMap((nonces, n) => nonces.map((nonce) => `${ids[n]} ${nonce}`))
  expect(rows.map(({ instance, nonce }) => `${instance} ${nonce}`).sort()).toEqual(recorded.sort())
  expect(recorded).toHaveLength(instances * rounds)
  await client.close()
  console.log(`transactions on PostgreSQL: ${deaths.within} deaths before the commit, ${deaths.after} between it and its answer`)
  expect(Math.min(deaths.within, deaths.after)).toBeGreaterThan(0)
})
