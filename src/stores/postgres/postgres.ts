import { PerdureError } from "../../core/errors.ts"
import type { StoreProvider } from "../../ports/store.ts"
import type { PgModule, PostgresPool } from "./pg.ts"
import { openPostgresStore } from "./postgres-store.ts"

export interface PostgresOptions {
  /** Such as "postgresql://user:password@host/database". */
  readonly connectionString?: string
  /** In place of a connection string: a pool of `pg`, of at least three connections. It stays open when the engine closes. */
  readonly pool?: PostgresPool
  /** The schema that holds the tables; it is created if it is not there. Default "perdure". */
  readonly schema?: string
  /** Connections at most, where there is no pool. One of them listens. Default 10. */
  readonly maxConnections?: number
}

/** A store in a PostgreSQL database (14 or later), for any number of processes. All of them may execute. */
export function postgres(options: PostgresOptions): StoreProvider {
  const { connectionString, pool, schema = "perdure", maxConnections = 10 } = options
  if ((typeof connectionString === "string") === (pool !== undefined) || connectionString === "")
    throw new PerdureError("BAD_OPTION", `postgres() needs a connectionString, such as "postgresql://user:password@host/database", or a pool of pg`)
  if (typeof schema !== "string" || !/^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(schema) || /^pg_/i.test(schema))
    throw new PerdureError("BAD_OPTION", `schema is a name of at most 40 letters, digits and underscores, not ${JSON.stringify(schema)}`)
  if (!Number.isSafeInteger(maxConnections) || maxConnections < 3)
    throw new PerdureError("BAD_OPTION", `maxConnections is a whole number of at least 3, not ${String(maxConnections)}`)
  return {
    name: "postgres",
    open: async (context) => {
      const pg = await loadPg()
      const own = () => new pg.Pool({ connectionString, max: maxConnections, application_name: "perdure", connectionTimeoutMillis: 10_000, keepAlive: true })
      return openPostgresStore({ pool: pool ?? own(), isGiven: pool !== undefined, types: pg.types, schema, context })
    },
  }
}

async function loadPg(): Promise<PgModule> {
  try {
    const { default: pg } = (await import("pg")) as unknown as { readonly default: PgModule }
    return pg
  } catch (cause) {
    throw new PerdureError("BAD_OPTION", `the PostgreSQL store needs the package pg; install it with "npm install pg"`, { cause })
  }
}
