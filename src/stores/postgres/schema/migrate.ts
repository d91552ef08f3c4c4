import { PerdureError } from "../../../core/errors.ts"
import type { Database, Queries } from "../connection/database.ts"
import { lockMigrations, migrationTimeoutMs, nameOf } from "./migration-lock.ts"
import { type Migration, migrations } from "./schema.ts"

/**
 * Brings a schema to the newest version that this code knows. Any number of processes may do so at once: they wait for one lock, which
 * ends with the transaction. A newer schema is used as it is, if it says that code of this version may use it.
 */
export async function migrate(database: Database, steps: readonly Migration[] = migrations, partitions?: number): Promise<void> {
  const newest = steps.at(-1)?.version ?? 0
  const before = await versionOf(database, database.schema)
  refuseTooNew(before, newest)
  const { schema } = database
  if (before.version > 0) await refuseOtherPartitions(database, schema, partitions)
  if (before.version >= newest) return
  await database.transaction(async (queries, client) => {
    await lockMigrations(client, schema)
    // Another process may have been first.
    const current = await versionOf(queries, schema)
    refuseTooNew(current, newest)
    const { version } = current
    if (version > 0) await refuseOtherPartitions(queries, schema, partitions)
    else {
      // If an administrator has created the schema, the role needs no right to create schemas.
      const known = await client.query(`SELECT 1 FROM pg_namespace WHERE nspname = $1`, [nameOf(schema)])
      if (known.rows.length === 0) await client.query(`CREATE SCHEMA ${schema}`)
      await client.query(`CREATE TABLE IF NOT EXISTS ${schema}.meta (version integer NOT NULL, compatible integer NOT NULL)`)
    }
    for (const step of steps) {
      if (step.version <= version) continue
      for (const statement of step.statements(schema, partitions ?? 0)) await client.query({ text: statement, query_timeout: migrationTimeoutMs })
      await client.query(`DELETE FROM ${schema}.meta`)
      await client.query(`INSERT INTO ${schema}.meta (version, compatible) VALUES ($1, $2)`, [step.version, step.compatible])
    }
  })
}

/** Tables are partitioned when they are created, or never. */
async function refuseOtherPartitions(queries: Queries, schema: string, wanted: number | undefined): Promise<void> {
  if (wanted === undefined) return
  const row = await queries.get(
    "partitions",
    `SELECT count(*) AS count FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhparent JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = 'instance'`,
    nameOf(schema),
  )
  const count = Number(row?.["count"] ?? 0)
  if (count === wanted) return
  throw new PerdureError(
    "BAD_OPTION",
    `schema ${schema} was made with ${count === 0 ? "no" : count} partitions, not ${wanted}; leave partitions out, or export the instances and import them into another schema`,
    { details: { partitions: count } },
  )
}

export interface SchemaVersion {
  readonly version: number
  readonly compatible: number
}

export async function versionOf(queries: Queries, schema: string): Promise<SchemaVersion> {
  // to_regclass may answer with the state before the wait for the lock, so pg_tables is read instead.
  const table = await queries.get("meta", `SELECT 1 AS found FROM pg_tables WHERE schemaname = $1 AND tablename = 'meta'`, nameOf(schema))
  if (table === undefined) return { version: 0, compatible: 0 }
  const row = await queries.get("version", `SELECT version, compatible FROM ${schema}.meta`)
  return { version: Number(row?.["version"] ?? 0), compatible: Number(row?.["compatible"] ?? 0) }
}

function refuseTooNew(database: SchemaVersion, newest: number): void {
  if (database.compatible <= newest) return
  throw new PerdureError(
    "DATABASE_TOO_NEW",
    `the database has schema version ${database.version}, but this version of perdure knows versions up to ${newest}; upgrade perdure to open it`,
    { details: { databaseVersion: database.version, knownVersion: newest } },
  )
}
