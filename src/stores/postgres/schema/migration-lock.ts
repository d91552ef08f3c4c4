import type { PostgresClient } from "../connection/pg.ts"

/** How long a migration of a large database may take, and so the wait for it. */
export const migrationTimeoutMs = 3_600_000

/** Waits for the lock of all changes of the schema, which ends with the transaction. */
export async function lockMigrations(client: PostgresClient, schema: string): Promise<void> {
  await client.query({ text: `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, values: [migrationLock(schema)], query_timeout: migrationTimeoutMs })
}

/** What the lock's key is a hash of. */
export function migrationLock(schema: string): string {
  return `perdure migrations of ${schema}`
}

/** The name of a quoted schema, without its quotes. */
export function nameOf(schema: string): string {
  return schema.slice(1, -1).replaceAll('""', '"')
}
