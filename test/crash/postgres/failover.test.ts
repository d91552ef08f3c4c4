// A primary dies, and its standby takes over at another address. A synchronous standby has every commit; an asynchronous standby may lack the newest commits.

import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import { afterEach, expect, it } from "vitest"
import { PostgresServer } from "../../../tools/postgres/server.ts"
import { until } from "../until.ts"
import { postgres } from "../../../src/postgres.ts"
import { completed, creation, turn } from "../../../src/testing/store-conformance/sample.ts"
import { all, ClusterBed, ids } from "./cluster-bed.ts"
import { silentLogger } from "../../../src/hosts/silent-logger.ts"

const servers: PostgresServer[] = []
let bed: ClusterBed | undefined
afterEach(async () => {
  await bed?.close()
  for (const server of servers.splice(0)) {
    // If both servers were stopped regularly, each would wait for the other.
    await server.kill()
    await server.stop()
  }
}, 60_000)

interface Pair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** A connection string that names both servers. */
  readonly url: string
}

/** `synchronous`: commits of the primary wait for the standby. */
async function pair({ synchronous }: { readonly synchronous: boolean }): Promise<Pair> {
  // The standby's data decides what survives. The disk does not matter.
  const primary = await PostgresServer.start(["fsync=off"])
  servers.push(primary)
  const standby = await primary.standby("second")
  servers.push(standby)
  if (synchronous) {
    await query(primary, `ALTER SYSTEM SET synchronous_standby_names = 'second'`)
    await query(primary, `SELECT pg_reload_conf()`)
  }
  const state = synchronous ? "sync" : "async"
  const isFollowing = async () => (await query(primary, `SELECT 1 FROM pg_stat_replication WHERE sync_state = '${state}' AND state = 'streaming'`)).length === 1
  expect(await until(isFollowing, 10_000)).toBe(true)
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

/** The standby has everything that the primary has now, and gets no later commit. */
async function cutReplication({ primary, standby }: Pair): Promise<void> {
  const [position] = (await query(primary, `SELECT pg_current_wal_lsn()::text AS lsn`)) as [{ lsn: string }]
  const hasReplayed = async () => (await query(standby, `SELECT 1 WHERE pg_last_wal_replay_lsn() >= '${position.lsn}'`)).length === 1
  expect(await until(hasReplayed, 10_000)).toBe(true)
  await query(standby, `ALTER SYSTEM SET primary_conninfo = ''`)
  await query(standby, `SELECT pg_reload_conf()`)
  expect(await until(async () => (await query(primary, `SELECT 1 FROM pg_stat_replication`)).length === 0, 10_000)).toBe(true)
}

it("workers and clients follow to the server that takes over; what was acknowledged is there, and no step is executed again", async () => {
  const { primary, standby, url } = await pair({ synchronous: true })
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
  const { primary, standby, url } = await pair({ synchronous: true })
  bed = await ClusterBed.open(url, "failover")
  await bed.start(["i"])
  await primary.kill()
  const failure = await bed.client.describe("i").catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: "STORE_UNREACHABLE" })
  const names = [primary, standby].map((server) => `${new URL(server.url).host}, database "postgres"`)
  expect(String(failure)).toContain(`PostgreSQL (${names.join(" or ")}) did not answer`)
  // The first server comes back, and the engine finds it.
  await primary.resume()
  expect(await until(async () => (await bed!.client.describe("i").catch(() => undefined))?.status === "queued", 10_000)).toBe(true)
})

it("a turn that follows turns which a failover lost is not appended to those that another worker wrote in their place", async () => {
  const servers = await pair({ synchronous: false })
  const context = { now: () => Date.now(), log: silentLogger, role: "worker" } as const
  const provider = () => postgres({ connectionString: servers.url, schema: "failover" })
  const first = await provider().open(context)
  const second = await provider().open(context)
  try {
    await first.journal.commit([creation("i"), turn("i", 3)])
    await cutReplication(servers)
    const lost = [turn("i", 4), turn("i", 5)]
    expect(await first.journal.commit(lost)).toEqual(["committed", "committed"])
    await servers.primary.kill()
    await query(servers.standby, `SELECT pg_promote()`)
    const [last] = (await second.journal.readJournal("i", 3)).slice(-1)
    const instead = turn("i", 4, { follows: last?.turn, count: 2 })
    expect(last?.position).toBe(3)
    expect(await second.journal.commit([instead])).toEqual(["committed"])
    // Both turns have the next position, but only one of their workers knows the journal.
    expect(await first.journal.commit([turn("i", 6, { follows: lost[1]?.turn })])).toEqual(["lost"])
    expect(await first.journal.commit([turn("i", 6, { follows: lost[1]?.turn, state: completed })])).toEqual(["lost"])
    // A turn that was acknowledged is sent again, and the new primary does not have it.
    expect(await first.journal.commit([lost[1]!])).toEqual(["lost"])
    expect(await second.journal.commit([turn("i", 6, { follows: instead.turn })])).toEqual(["committed"])
    expect((await second.journal.readJournal("i", 1)).map(({ position }) => position)).toEqual([1, 3, 4, 6])
  } finally {
    await first.close()
    await second.close()
  }
})

it("a worker that was frozen during a failover which lost data adds nothing to journals that another worker has gone on with", async () => {
  const servers = await pair({ synchronous: false })
  bed = await ClusterBed.open(servers.url, "failover")
  const names = ids(20)
  const frozen = await bed.worker({ lease: "1s", stepMs: 100 })
  await bed.start(names)
  await frozen.works(names.length)
  await cutReplication(servers)
  await frozen.works(names.length * 2)
  frozen.signal("SIGSTOP")
  await servers.primary.kill()
  await query(servers.standby, `SELECT pg_promote()`)
  const other = await bed.worker({ lease: "1s", stepMs: 100 })
  await other.works(names.length)
  frozen.signal("SIGCONT")
  expect(await bed.results(names)).toEqual(names.map(() => all))
  expect(await bed.flaws(names)).toEqual([])
})
