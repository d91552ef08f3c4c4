import { Client } from "pg"
import type { Place } from "../adapter.ts"

const name = "perdure_bench_peers"

export interface FreshDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** An empty database on the server of the run. It always has the same name, so that a run that was killed leaves one behind at most. */
export async function freshDatabase({ databaseUrl }: Place): Promise<FreshDatabase> {
  if (databaseUrl === undefined) throw new Error("this engine needs a PostgreSQL server")
  const drop = () => execute(databaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  await drop()
  await execute(databaseUrl, `CREATE DATABASE ${name}`)
  return { url: databaseOf({ databaseUrl }), drop }
}

/** The one that another process has made there. */
export function databaseOf({ databaseUrl }: Pick<Place, "databaseUrl">): string {
  if (databaseUrl === undefined) throw new Error("this engine needs a PostgreSQL server")
  const url = new URL(databaseUrl)
  url.pathname = `/${name}`
  return url.href
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
