import type { Client } from "pg"
import { Perdure } from "perdure"
import { sequence, sleeper, workflows } from "./bench-workflows.ts"
import { connect, schemaOf, storeOnPostgres } from "./postgres-place.ts"

/** Rows of one statement. Progress is reported after each statement. */
const copiesAtOnce = 25_000

/** Fills a PostgreSQL database as `crowd` fills a SQLite file: half of the instances are completed, and half sleep for long. */
export async function crowdPostgres(folder: string, rows: number, progress: (text: string) => void): Promise<void> {
  const engine = await Perdure.open({ store: storeOnPostgres(folder), workflows })
  const done = await engine.start(sequence, { id: "done", input: 1 })
  await done.result()
  const asleep = await engine.start(sleeper, { id: "asleep", input: 30 * 24 * 3_600_000 })
  while ((await asleep.status()) !== "sleeping") await new Promise((resolve) => setTimeout(resolve, 5))
  await engine.close()
  const client = await connect()
  try {
    await multiply(client, schemaOf(folder), rows, progress)
  } finally {
    await client.end()
  }
}

/** Lets PostgreSQL copy the rows of the engine under other keys and ids. Each copy is created, and due, a millisecond after the one before. */
async function multiply(client: Client, schema: string, rows: number, progress: (text: string) => void): Promise<void> {
  const numberOf = async (sql: string) => Number((await client.query<{ n: string }>(sql)).rows[0]?.n)
  const originals = await numberOf(`SELECT count(*) + (SELECT count(*) FROM ${schema}.journal) AS n FROM ${schema}.instance`)
  const copies = Math.ceil(rows / originals) - 1
  const apart = await numberOf(`SELECT max(key) AS n FROM ${schema}.instance`)
  const later = `c.n - ${copies + 1}`
  const changed = {
    instance: {
      key: `t.key + c.n * ${apart}`,
      id: "t.id || '-' || c.n",
      created_at: `t.created_at + ${later}`,
      updated_at: `t.updated_at + ${later}`,
      due_at: "t.due_at + c.n",
    },
    journal: { instance: `t.instance + c.n * ${apart}`, seq: "c.n * 100 + t.position" },
  }
  // The copying in SQLite does not wait for the disk either.
  await client.query("SET synchronous_commit = off")
  for (const [table, values] of Object.entries(changed)) {
    const columns = await copied(client, `${schema}.${table}`)
    const isOriginal = `t.${table === "journal" ? "instance" : "key"} <= ${apart}`
    const selected = columns.map((column) => (values as Readonly<Record<string, string>>)[column] ?? `t.${column}`)
    for (let from = 1; from <= copies; from += copiesAtOnce) {
      const to = Math.min(copies, from + copiesAtOnce - 1)
      await client.query(
        `INSERT INTO ${schema}.${table} (${columns.join(", ")}) SELECT ${selected.join(", ")}
        FROM generate_series(${from}, ${to}) AS c (n) CROSS JOIN (SELECT * FROM ${schema}.${table} t WHERE ${isOriginal}) t`,
      )
      progress(`${table}: copied ${to} of ${copies} times`)
    }
  }
  await client.query(`SELECT setval('${schema}.instance_key', ${apart * (copies + 1)})`)
  // PostgreSQL would vacuum by itself after a while.
  progress("vacuum")
  await client.query(`VACUUM (ANALYZE) ${schema}.instance, ${schema}.journal`)
  await client.query("CHECKPOINT")
}

/** The columns to copy. PostgreSQL computes generated columns, and the number of the transaction is the one of the copying transaction. */
async function copied(client: Client, table: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> 'xid' ORDER BY attnum`,
    [table],
  )
  return rows.map(({ name }) => name)
}
