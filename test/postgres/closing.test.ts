// The connections of a store that is closed.

import { randomBytes } from "node:crypto"
import { setTimeout as delay } from "node:timers/promises"
import { postgres } from "perdure/postgres"
import pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { FaultyProxy } from "../../tools/postgres/faulty-proxy.ts"
import { fileServerUrl } from "../../tools/postgres/file-server.ts"

const name = `closing_${randomBytes(6).toString("hex")}`
const url = new URL(fileServerUrl())
url.searchParams.set("application_name", name)
const admin = new pg.Client({ connectionString: fileServerUrl() })

beforeAll(() => admin.connect())
afterAll(async () => {
  await admin.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`)
  await admin.end()
})

it("connections that the server ends while a store is closed take nobody down", async () => {
  const uncaught: unknown[] = []
  const listener = (error: unknown) => uncaught.push(error)
  process.on("uncaughtException", listener)
  try {
    for (let round = 0; round < 20; round++) {
      const store = await postgres({ connectionString: url.href, schema: name }).open({ now: Date.now, log: silentLogger, role: "worker" })
      await Promise.all(Array.from({ length: 4 }, () => store.directory.list({}, { limit: 1, order: "newest" })))
      await Promise.all([store.close(), admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, [name])])
    }
    await new Promise<void>((resolve) => setImmediate(resolve))
  } finally {
    process.off("uncaughtException", listener)
  }
  expect(uncaught).toEqual([])
})

it("a connection that breaks while it begins to listen is made again once, and a store that had such ends", async () => {
  const proxy = await FaultyProxy.before(url.href)
  try {
    const store = await postgres({ connectionString: proxy.url(url.href), schema: name }).open({ now: Date.now, log: silentLogger, role: "worker" })
    const listening = async () => (await admin.query(`SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'LISTEN%'`, [name])).rows.length
    for (const harm of ["cut before", "cut after", "cut before"] as const) {
      const fault = proxy.inject(/^LISTEN/, harm, 1)
      proxy.cut()
      while (fault.times > 0 || (await listening()) === 0) await delay(5)
    }
    // A second attempt would come after half a second at the latest.
    await delay(1_000)
    expect(await listening()).toBe(1)
    const ended = await Promise.race([store.close().then(() => "ended"), delay(10_000, "not ended")])
    expect(ended).toBe("ended")
  } finally {
    await proxy.close()
  }
})
