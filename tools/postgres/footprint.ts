// Measures the cost of an instance and of a step in the database: rows, bytes on disk, bytes of write-ahead log, transactions. docs/scaling.md has the results.
//
//   node tools/postgres/footprint.ts

import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import { Perdure, workflow } from "../../src/index.ts"
import { postgres } from "../../src/postgres.ts"
import { PostgresServer } from "./server.ts"

const instances = 2_000
const tables = ["instance", "journal", "inbox", "tag"] as const

interface Figures {
  readonly wal: number
  readonly commits: number
  readonly rows: Readonly<Record<string, number>>
  readonly bytes: Readonly<Record<string, number>>
  readonly heap: Readonly<Record<string, number>>
}

const server = await PostgresServer.start(["full_page_writes=off"])
const client = new pg.Client({ connectionString: server.url })
await client.connect()

async function number(text: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(`SELECT (${text})::bigint AS n`)
  return Number(rows[0]?.n)
}

async function figures(schema: string): Promise<Figures> {
  await client.query("CHECKPOINT")
  // The server publishes its statistics once a second.
  await delay(1_500)
  const each = async (text: (table: string) => string) => {
    const found: Record<string, number> = {}
    for (const table of tables) found[table] = await number(text(`${schema}.${table}`))
    return found
  }
  return {
    wal: await number(`SELECT pg_current_wal_lsn() - '0/0'::pg_lsn`),
    commits: await number(`SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()`),
    rows: await each((table) => `SELECT count(*) FROM ${table}`),
    bytes: await each((table) => `SELECT pg_total_relation_size('${table}')`),
    heap: await each((table) => `SELECT pg_table_size('${table}')`),
  }
}

const one = workflow("one", async (ctx, steps: number) => {
  for (let n = 0; n < steps; n++) await ctx.do(`step ${n}`, async () => ({ ok: true, n }))
  return steps
})
const nap = workflow("nap", async (ctx) => ctx.sleep("long", "1d"))

/** The growth of the database, divided by the number of instances. */
async function measure(name: string, inSequence: boolean, steps: number): Promise<void> {
  const schema = `footprint_${name.replaceAll(/\W/g, "_")}`
  const engine = await Perdure.open({ store: postgres({ connectionString: server.url, schema }), workflows: [one, nap] })
  const before = await figures(schema)
  const count = inSequence ? 200 : instances
  if (steps < 0) {
    await engine.startBatch(Array.from({ length: count }, (_, n) => ({ workflow: nap, id: `i${n}`, input: undefined })))
    while ((await engine.count({ status: "sleeping" }, "status"))["sleeping"] !== count) await delay(50)
  } else if (inSequence) {
    for (let n = 0; n < count; n++) await (await engine.start(one, { id: `i${n}`, input: steps })).result()
  } else {
    await engine.startBatch(Array.from({ length: count }, (_, n) => ({ workflow: one, id: `i${n}`, input: steps })))
    await Promise.all(Array.from({ length: count }, (_, n) => engine.get(`i${n}`).result()))
  }
  const after = await figures(schema)
  await engine.close()
  const per = (to: number, from: number) => Math.round(((to - from) / count) * 100) / 100
  const rows = tables.map((table) => `${table} ${per(after.rows[table]!, before.rows[table]!)}`)
  const bytes = tables.map(
    (table) => `${table} ${Math.round(per(after.bytes[table]!, before.bytes[table]!))} (heap ${Math.round(per(after.heap[table]!, before.heap[table]!))})`,
  )
  console.log(`${name}: of each instance`)
  console.log(`  rows          ${rows.join(", ")}`)
  console.log(`  bytes         ${bytes.join(", ")}`)
  console.log(`  log           ${Math.round(per(after.wal, before.wal))} bytes`)
  console.log(`  transactions  ${per(after.commits, before.commits)}`)
}

await measure("sleeping", false, -1)
await measure("no step", false, 0)
await measure("one step", false, 1)
await measure("ten steps", false, 10)
await measure("one step, one after another", true, 1)
await measure("ten steps, one after another", true, 10)
await client.end()
await server.stop()
