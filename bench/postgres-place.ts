// Tells the measured processes where the PostgreSQL of a run is. Each folder of such a process stands for a schema of its own.
// The code for PostgreSQL is loaded on demand, because the memory of processes without PostgreSQL is measured as well.

import { createHash } from "node:crypto"
import type { StoreProvider } from "perdure"
import type { Client } from "pg"

/** The environment variable that the run sets. */
export const urlVariable = "PERDURE_BENCH_DATABASE_URL"

export function databaseUrl(): string {
  const url = process.env[urlVariable]
  if (url === undefined) throw new Error(`${urlVariable} is not set: the run has started no PostgreSQL`)
  return url
}

export const schemaOf = (folder: string) => `bench_${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`

export function storeOnPostgres(folder: string): StoreProvider {
  return {
    name: "postgres",
    async open(context) {
      const { postgres } = await import("perdure/postgres")
      return postgres({ connectionString: databaseUrl(), schema: schemaOf(folder) }).open(context)
    },
  }
}

export async function connect(): Promise<Client> {
  const { default: pg } = await import("pg")
  const client = new pg.Client({ connectionString: databaseUrl() })
  await client.connect()
  return client
}
