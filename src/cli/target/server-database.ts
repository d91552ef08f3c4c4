import { PerdureError } from "../../core/errors.ts"
import type { StoreProvider } from "../../ports/store.ts"
import type { Database } from "../../stores/postgres/connection/database.ts"
import { CommandError, exitCodes } from "../exit-code.ts"

/** A PostgreSQL database as `--db` names it. `?schema=` in the address names a schema other than the default. */
interface ServerDatabase {
  readonly connectionString: string
  readonly schema: string
}

function parsed(db: string): ServerDatabase {
  const [, address = db, query = ""] = /^([^?#]*)(?:\?([^#]*))?/.exec(db) ?? []
  const parameters = new URLSearchParams(query)
  const schema = parameters.get("schema") ?? "perdure"
  parameters.delete("schema")
  return { connectionString: parameters.size === 0 ? address : `${address}?${parameters.toString()}`, schema }
}

/** The address for people and logs, without user, password and options. */
export function serverName(db: string): string {
  return db
    .replace(/^postgres(?:ql)?:\/*/, "")
    .replace(/[?#].*$/, "")
    .replace(/^.*@/, "")
}

export async function serverStore(db: string, maxConnections = 10): Promise<StoreProvider> {
  const { postgres } = await import("../../postgres.ts")
  return postgres({ ...parsed(db), maxConnections })
}

/** Reads from the database without changing it. An error names the database. */
export async function inspect<T>(db: string, work: (database: Database) => Promise<T>): Promise<T> {
  const { inspectDatabase } = await import("../../stores/postgres/maintenance.ts")
  const { connectionString, schema } = parsed(db)
  try {
    return await inspectDatabase(connectionString, schema, work)
  } catch (cause) {
    if (PerdureError.is(cause, "DATABASE_TOO_NEW") || PerdureError.is(cause, "BAD_OPTION")) throw cause
    const why = cause instanceof Error ? cause.message || "nobody answers" : String(cause)
    throw new CommandError("NO_DATABASE", exitCodes.unreachable, `PostgreSQL at "${serverName(db)}" cannot be used: ${why}`, { cause })
  }
}

/** Refuses a database without the tables of Perdure, because opening a store would create them. `from` says who named the database. */
export async function requireTables(db: string, from: string): Promise<void> {
  const { schemaVersion } = await import("../../stores/postgres/maintenance.ts")
  if ((await inspect(db, schemaVersion)).version > 0) return
  throw new CommandError("NO_DATABASE", exitCodes.unreachable, `the PostgreSQL database of ${from} has no tables of Perdure; nothing was changed in it`)
}
