// With a million sleeping and a million ended instances, frequent operations of workers and users take at most twice as long as with a
// hundred of each. Both databases are on one server and take turns, so compared values come from the same moments. The test needs an idle machine, and
// is part of `npm run test:long` alone.

import pg from "pg"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { postgres } from "../../src/stores/postgres/postgres-provider.ts"
import { crowdSchema } from "../../tools/postgres/crowded-schema.ts"
import { PostgresServer } from "../../tools/postgres/server.ts"
import { operations, type Place } from "./operations.ts"

const size = Number(process.env["SIZE"] ?? 1_000_000)
/** Other instances, so that a page is full also in the small database. */
const company = 100
const warmUps = 20
const times = 201
const day = 24 * 3_600_000

let server: PostgresServer
let pool: pg.Pool
let empty: Place
let crowded: Place

async function open(schema: string, crowd: number): Promise<Place> {
  const store = await postgres({ pool, schema }).open({ now: Date.now, log: silentLogger, role: "worker" })
  await crowdSchema(pool, schema, crowd, { from: Date.now() - 10 * crowd - day, wakeAt: Date.now() + day })
  return Object.assign(store, { crowd, used: 0 })
}

beforeAll(async () => {
  server = await PostgresServer.start(["fsync=off"])
  pool = new pg.Pool({ connectionString: server.url, max: 10 })
  crowded = await open("crowded", size)
  empty = await open("empty", company)
  await pool.query("CHECKPOINT")
}, 1_200_000)
// Removed rows are vacuumed in both databases. Autovacuum begins after a share of all rows, so it would vacuum only the small database.
beforeEach(async () => {
  for (const schema of ["crowded", "empty"])
    await pool.query(`VACUUM (ANALYZE, INDEX_CLEANUP ON) ${schema}.instance, ${schema}.journal, ${schema}.inbox, ${schema}.tag`)
}, 600_000)
afterAll(async () => {
  await empty.close()
  await crowded.close()
  await pool.end()
  await server.stop()
}, 120_000)

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

describe(`${size.toLocaleString("en-US")} instances that sleep and as many that have ended`, () => {
  it.each(Object.entries(operations))("take no more than twice the time of an empty database from: %s", async (name, operation) => {
    const ofEmpty: number[] = []
    const ofCrowded: number[] = []
    for (let n = -warmUps; n < times; n++) {
      const ms = [await operation(empty), await operation(crowded)] as const
      if (n < 0) continue
      ofEmpty.push(ms[0])
      ofCrowded.push(ms[1])
    }
    const ratio = median(ofCrowded) / median(ofEmpty)
    console.log(`${name}: ${median(ofEmpty).toFixed(3)} ms, crowded ${median(ofCrowded).toFixed(3)} ms, ${ratio.toFixed(2)} ×`)
    expect(ratio).toBeLessThanOrEqual(2)
  })
})
