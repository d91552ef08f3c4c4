// What the command line does to a database without opening a store on it: it inspects the database, and migrates it as a separate step.

import { durationMs } from "../../core/time/duration.ts"
import { isLive } from "./schema/claim-functions.ts"
import { serverTime } from "./schema/clock-functions.ts"
import { createFunctions, missingFunctions as missingNames } from "./schema/function-use.ts"
import { integer, optionalInteger, optionalText, text } from "./reads/columns.ts"
import { Database } from "./connection/database.ts"
import { migrate, type SchemaVersion, versionOf } from "./schema/migrate.ts"
import { loadPg, ownPool } from "./postgres-provider.ts"
import { migrations } from "./schema/schema.ts"
import { checkSchemaName } from "./connection/schema-name.ts"
import { serversOf } from "./connection/server-address.ts"

export const newestSchema: number = migrations.at(-1)?.version ?? 0

/** Calls `work` with a database that is closed afterwards. Creates nothing in it. */
export async function inspectDatabase<T>(connectionString: string, schema: string, work: (database: Database) => Promise<T>): Promise<T> {
  checkSchemaName(schema)
  const pg = await loadPg()
  const servers = serversOf(connectionString)
  const pool = ownPool(pg, servers, { max: 2, connectionTimeoutMillis: durationMs("10s") })
  // An error event without a listener would end the process.
  pool.on("error", () => undefined)
  const database = new Database(pool, pg.types, `"${schema.replaceAll('"', '""')}"`, servers.map(({ name }) => name).join(" or "))
  try {
    return await work(database)
  } finally {
    await database.close()
    await pool.end()
  }
}

/** Version 0: there are no tables. */
export async function schemaVersion(database: Database): Promise<SchemaVersion> {
  return versionOf(database, database.schema)
}

export function pendingMigrations(version: number): readonly { readonly version: number; readonly statements: number }[] {
  return migrations.filter((step) => step.version > version).map((step) => ({ version: step.version, statements: step.statements("s", 0).length }))
}

/** Brings the tables to the newest version, and creates the functions that are missing. */
export async function migrateDatabase(database: Database): Promise<void> {
  await migrate(database)
  await createFunctions(database)
}

/** How many functions of this version of perdure the database lacks. */
export async function missingFunctions(database: Database): Promise<number> {
  return (await missingNames(database)).length
}

/** The state of the server, for operators. */
export interface ServerState {
  readonly version: string
  readonly versionNumber: number
  readonly now: number
  readonly bytes: number
  readonly connections: number
  readonly connectionsMax: number
  /** How long the oldest transaction that has written is open. */
  readonly oldestWriteMs: number | undefined
}

export async function serverState(database: Database): Promise<ServerState> {
  const row =
    (await database.get(
      "server-state",
      `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::bigint AS number,
        ${serverTime} AS now, pg_database_size(current_database()) AS bytes,
        (SELECT count(*) FROM pg_stat_activity) AS connections, current_setting('max_connections')::bigint AS connections_max,
        (SELECT floor(extract(epoch FROM clock_timestamp() - min(xact_start)) * 1000)::bigint FROM pg_stat_activity WHERE backend_xid IS NOT NULL) AS oldest_write`,
    )) ?? {}
  return {
    version: text(row, "version"),
    versionNumber: integer(row, "number"),
    now: integer(row, "now"),
    bytes: integer(row, "bytes"),
    connections: integer(row, "connections"),
    connectionsMax: integer(row, "connections_max"),
    oldestWriteMs: optionalInteger(row, "oldest_write"),
  }
}

/** Workers, instances that wait for a person, and instances that no worker claims. */
export interface WorkState {
  readonly workers: number
  readonly stalled: { readonly count: number; readonly ids: readonly string[] }
  /** Instances that have been claimable for longer than `overdueMs`. */
  readonly overdue: { readonly count: number; readonly since: number | undefined; readonly id: string | undefined }
}

export async function workState(database: Database, idsMax: number, overdueMs: number): Promise<WorkState> {
  const s = database.schema
  const workers = await database.get("live-workers", `SELECT count(*) AS count FROM ${s}.lease l WHERE ${isLive(serverTime)}`)
  const stalled = await database.get("stalled", `SELECT count(*) AS count FROM ${s}.instance i WHERE i.status = 'stalled'`)
  const ids = await database.all("stalled-ids", `SELECT i.id FROM ${s}.instance i WHERE i.status = 'stalled' ORDER BY i.created_at LIMIT $1`, idsMax)
  const overdue = await database.get(
    "overdue",
    `SELECT count(*) AS count, min(i.claimable_at) AS since, min(i.id) AS id FROM ${s}.instance i WHERE i.claimable_at <= ${serverTime} - $1::bigint`,
    overdueMs,
  )
  return {
    workers: integer(workers ?? {}, "count"),
    stalled: { count: integer(stalled ?? {}, "count"), ids: ids.map((row) => text(row, "id")) },
    overdue: { count: integer(overdue ?? {}, "count"), since: optionalInteger(overdue ?? {}, "since"), id: optionalText(overdue ?? {}, "id") },
  }
}
