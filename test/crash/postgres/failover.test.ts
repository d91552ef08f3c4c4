// A primary dies, and the standby that had to confirm every commit of it takes its place, at another address.

import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import { afterEach, expect, it } from "vitest"
import { PostgresServer } from "../../../tools/postgres/server.ts"
import { until } from "../until.ts"
import { all, ClusterBed } from "./cluster-bed.ts"

const servers: PostgresServer[] = []
let bed: ClusterBed | undefined
afterEach(async () => {
  await bed?.close()
  for (const server of servers.splice(0)) {
    // In good order each would wait for the other.
    await server.kill()
    await server.stop()
  }
}, 60_000)

/** A primary whose commits wait for its standby, and a connection string that names both. */
async function pair(): Promise<{ readonly primary: PostgresServer; readonly standby: PostgresServer; readonly url: string }> {
  // What survives is what the other has: the disk has no part in it.
  const primary = await PostgresServer.start(["fsync=off"])
  servers.push(primary)
  const standby = await primary.standby("second")
  servers.push(standby)
  await query(primary, `ALTER SYSTEM SET synchronous_standby_names = 'second'`)
  await query(primary, `SELECT pg_reload_conf()`)
  const isSynchronous = async () => (await query(primary, `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length === 1
  expect(await until(isSynchronous, 10_000)).toBe(true)
  const url = new URL(primary.url)
  const { host } = url
  return { primary, standby, url: `${url.href.replace(host, `${host},${new URL(standby.url).host}`)}?target_session_attrs=read-write` }
}

async function query(server: PostgresServer, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

it("workers and clients follow to the server that takes over; what was acknowledged is there, and no step is executed again", async () => {
  const { primary, standby, url } = await pair()
  bed = await ClusterBed.open(url, "failover")
  const { client } = bed
  const workers = [await bed.worker({ lease: "30s" }), await bed.worker({ lease: "30s" })]
  const acknowledged: string[] = []
  let isOver = false
  const starting = (async () => {
    for (let n = 0; !isOver; n++) {
      await client.start("count", { version: "1", allowUnknown: true, id: `i${n}`, input: all.length, ifExists: "return" })
      acknowledged.push(`i${n}`)
      await delay(10)
    }
  })()
  await Promise.all(workers.map((worker) => worker.works(10)))
  expect(await until(() => acknowledged.length > 5, 30_000)).toBe(true)
  await primary.kill()
  const before = acknowledged.length
  await delay(500)
  expect(await query(standby, `SELECT pg_promote() AS promoted`)).toEqual([{ promoted: true }])
  await until(() => acknowledged.length > before + 10, 30_000)
  isOver = true
  await starting
  expect(acknowledged.length).toBeGreaterThan(before + 10)
  expect(await bed.results(acknowledged)).toEqual(acknowledged.map(() => all))
  expect(await bed.flaws(acknowledged)).toEqual([])
  const calls = workers.flatMap(({ reports }) => reports.flatMap((report) => (report.type === "step" ? [`${report.instance} ${report.step}`] : [])))
  expect(calls).toHaveLength(new Set(calls).size)
  expect(calls).toHaveLength(acknowledged.length * all.length)
})

it("a standby that nobody has promoted is not written to; the error names both servers", async () => {
  const { primary, standby, url } = await pair()
  bed = await ClusterBed.open(url, "failover")
  await bed.start(["i"])
  await primary.kill()
  const failure = await bed.client.describe("i").catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: "STORE_UNREACHABLE" })
  const names = [primary, standby].map((server) => `${new URL(server.url).host}, database "postgres"`)
  expect(String(failure)).toContain(`PostgreSQL (${names.join(" or ")}) did not answer`)
  // The first comes back, and is found.
  await primary.resume()
  expect(await until(async () => (await bed!.client.describe("i").catch(() => undefined))?.status === "queued", 10_000)).toBe(true)
})
