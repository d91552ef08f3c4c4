// What becomes of the connections of a store that is closed.

import { randomBytes } from "node:crypto"
import { postgres } from "perdure/postgres"
import pg from "pg"
import { afterAll, beforeAll, expect, inject, it } from "vitest"

const name = `closing_${randomBytes(6).toString("hex")}`
const url = new URL(inject("databaseUrl"))
url.searchParams.set("application_name", name)
const admin = new pg.Client({ connectionString: inject("databaseUrl") })
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

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
      const store = await postgres({ connectionString: url.href, schema: name }).open({ now: Date.now, log: silent, role: "worker" })
      await Promise.all(Array.from({ length: 4 }, () => store.directory.list({}, { limit: 1, order: "newest" })))
      await Promise.all([store.close(), admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, [name])])
    }
    await new Promise<void>((resolve) => setImmediate(resolve))
  } finally {
    process.off("uncaughtException", listener)
  }
  expect(uncaught).toEqual([])
})
