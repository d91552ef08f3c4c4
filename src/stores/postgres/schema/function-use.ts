import type { Logger } from "../../../ports/host.ts"
import { PerdureError } from "../../../core/errors.ts"
import type { Database } from "../connection/database.ts"
import type { PostgresClient } from "../connection/pg.ts"
import { lockMigrations, migrationLock, nameOf } from "./migration-lock.ts"

/** How often a process that uses a set of functions notes that in the database. */
const noteHours = 1
/** A set that no process has noted for so long is dropped. */
const keepDays = 7

const noteMs = noteHours * 3_600_000
const retryMs = 60_000

/**
 * Creates the functions that this version of the code calls and the database lacks; replaces no function. If all functions are there and the set was
 * noted within the last hour, this costs one look-up.
 */
export async function ensureFunctions(database: Database): Promise<void> {
  const { schema, functionSet } = database
  const row = await database.get(
    "functions",
    `SELECT (SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname = ANY ($2::text[])) AS found,
      EXISTS (SELECT 1 FROM ${schema}.function_set f WHERE f.hash = $3 AND f.used_at > clock_timestamp() - make_interval(hours => $4)) AS noted`,
    nameOf(schema),
    functionSet.definitions.map(({ name }) => name),
    functionSet.hash,
    noteHours,
  )
  if (row?.["noted"] === true && row["found"] === functionSet.definitions.length) return
  await createFunctions(database)
}

/** Creates the functions that are missing, notes that the set is used, and drops the sets that no process uses any more. Returns how many were created. */
export async function createFunctions(database: Database): Promise<number> {
  return database.transaction(async (_, client) => {
    await lockMigrations(client, database.schema)
    return noteUse(client, database)
  })
}

/** The names of functions that this version of the code calls and the database lacks. */
export async function missingFunctions(database: Database): Promise<readonly string[]> {
  const rows = await database.all("functions-found", functionNames, nameOf(database.schema))
  return missingFrom(database, rows)
}

/**
 * Notes, from time to time, that this process uses its set of functions. All changes of functions and of the table of sets are made under the lock of the
 * migrations. So a set cannot be dropped while another process creates it again.
 */
export class FunctionUse {
  readonly #database: Database
  readonly #log: Logger
  #nextNoteAt = performance.now() + noteMs
  #hasWarned = false

  constructor(database: Database, log: Logger) {
    this.#database = database
    this.#log = log
  }

  /** Does nothing if this process has noted the use within the last hour. Nobody waits for the note; if it fails, a call a minute later tries again. */
  noteIfDue(): void {
    const now = performance.now()
    if (now < this.#nextNoteAt) return
    this.#nextNoteAt = now + noteMs
    this.#note().catch((error: unknown) => {
      this.#nextNoteAt = now + retryMs
      this.#warnOnce("it could not be noted which functions of the database this process uses; trying again every minute", error)
    })
  }

  /** Creates the functions that the database lacks. Nobody waits for them. */
  createMissing(): void {
    createFunctions(this.#database).catch((error: unknown) => {
      this.#log.warn("the functions that this version of perdure calls could not be created", { error })
    })
  }

  #warnOnce(message: string, error: unknown): void {
    this.#log[this.#hasWarned ? "debug" : "warn"](message, { error })
    this.#hasWarned = true
  }

  async #note(): Promise<void> {
    await this.#database.transaction(async (_, client) => {
      // A long migration must not occupy a connection of every worker.
      const { rows } = await client.query(`SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked`, [migrationLock(this.#database.schema)])
      if (rows[0]?.["locked"] === true) await noteUse(client, this.#database)
    })
  }
}

const functionNames = `SELECT p.proname::text AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1`

function missingFrom({ functionSet }: Database, rows: readonly Record<string, unknown>[]): readonly string[] {
  const found = new Set(rows.map(({ name }) => String(name)))
  return functionSet.definitions.map(({ name }) => name).filter((name) => !found.has(name))
}

/** The caller has the lock of the migrations. */
async function noteUse(client: PostgresClient, database: Database): Promise<number> {
  const { schema, functionSet } = database
  const { rows } = await client.query(functionNames, [nameOf(schema)])
  const missing = new Set(missingFrom(database, rows))
  if (missing.size > 0) await requireCreate(client, schema)
  for (const { name, statement } of functionSet.definitions) if (missing.has(name)) await client.query(statement)
  await client.query(
    `INSERT INTO ${schema}.function_set (hash, names, used_at) VALUES ($1, $2, clock_timestamp())
    ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at`,
    [functionSet.hash, functionSet.definitions.map(({ name }) => name)],
  )
  await dropUnused(client, schema)
  return missing.size
}

/**
 * Drops the functions of sets that no process has noted for a long time, unless a set in use has them, too. A set stays noted while it has a function that
 * belongs to another role.
 */
async function dropUnused(client: PostgresClient, schema: string): Promise<void> {
  const { rows } = await client.query(
    `WITH expired AS MATERIALIZED (
      SELECT f.hash, f.names FROM ${schema}.function_set f WHERE f.used_at < clock_timestamp() - make_interval(days => $2)
    ), unused AS MATERIALIZED (
      SELECT p.proname, pg_has_role(p.proowner, 'USAGE') AS may_drop FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = $1 AND p.proname = ANY (SELECT unnest(e.names) FROM expired e)
        AND NOT EXISTS (SELECT 1 FROM ${schema}.function_set f WHERE f.hash NOT IN (SELECT e.hash FROM expired e) AND p.proname::text = ANY (f.names))
    ), forgotten AS (
      DELETE FROM ${schema}.function_set f USING expired e WHERE f.hash = e.hash AND NOT EXISTS (SELECT 1 FROM unused u WHERE NOT u.may_drop)
    )
    SELECT u.proname::text AS name FROM unused u WHERE u.may_drop`,
    [nameOf(schema), keepDays],
  )
  for (const { name } of rows) await client.query(`DROP FUNCTION IF EXISTS ${schema}.${functionName(String(name))}`)
}

/** The name of one of our functions. The name needs no quotes. */
function functionName(name: string): string {
  if (/^[a-z0-9_]+$/.test(name)) return name
  throw new Error(`"${name}" is not the name of a function of ours`)
}

async function requireCreate(client: PostgresClient, schema: string): Promise<void> {
  const { rows } = await client.query(`SELECT has_schema_privilege($1, 'CREATE') AS may, current_user::text AS role`, [nameOf(schema)])
  if (rows[0]?.["may"] === true) return
  const role = String(rows[0]?.["role"])
  throw new PerdureError(
    "READ_ONLY",
    `this version of perdure needs functions that are missing in schema ${schema}, and the role "${role}" may not create them; run "perdure migrate" with the role that owns the schema, or grant "${role}" the right CREATE on the schema`,
    { details: { role } },
  )
}
