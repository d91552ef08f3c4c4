// Where the PostgreSQL of a run is, for the processes that are measured. Each folder that they get stands for a schema of its own there.
// What PostgreSQL needs is loaded when it is needed: the memory of processes that do without is measured as well.

import { createHash } from "node:crypto"
import type { StoreProvider } from "perdure"
import type { Client } from "pg"

/** Set by whoever starts the run. */
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
