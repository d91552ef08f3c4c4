import { type Duration, durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { FailoverPool, requireWritable } from "./connection/failover-pool.ts"
import type { PgModule, PostgresPool } from "./connection/pg.ts"
import { openPostgresStore } from "./postgres-store.ts"
import { checkSchemaName } from "./connection/schema-name.ts"
import { type ServerAddress, serverOfPool, serversOf } from "./connection/server-address.ts"

/** Options of `postgres`: a connection string or a pool. Everything else has a default. */
export interface PostgresOptions {
  /**
   * For example "postgresql://user:password@host/database". Commas separate several servers, of which one at a time accepts writes:
   * "postgresql://user:password@db1:5432,db2:5432/database?target_session_attrs=read-write".
   */
  readonly connectionString?: string
  /** A pool of `pg` with at least three connections, instead of a connection string. The pool stays open when the engine closes. */
  readonly pool?: PostgresPool
  /** The schema that holds the tables. It is created if it does not exist. Default "perdure". */
  readonly schema?: string
  /**
   * How many partitions, by a hash of the instance, the tables of a new schema have: for databases of hundreds of millions of rows.
   * Default none. All processes that open the schema give the same number, or leave it out.
   */
  readonly partitions?: number
  /** The largest number of connections if there is no `pool`. One of them listens. Default 10. */
  readonly maxConnections?: number
  /**
   * The address of the one connection that listens for notifications. Default: the address of the other connections. Behind PgBouncer in transaction mode,
   * this connection needs the address of the server itself. `false`: no connection listens, and the engine polls.
   */
  readonly listen?: { readonly connectionString: string } | false
  /** `false`: statements are not prepared by name. PgBouncer before version 1.21 needs that in transaction mode. Default true. */
  readonly prepare?: boolean
  /** How long a server may be silent before the connection counts as lost, if there is no `pool`. Default "30s". */
  readonly answerTimeout?: Duration
}

/**
 * A store in a PostgreSQL database (14 or later), for any number of processes. All of them may execute workflows. It needs the package `pg`. Throws
 * `BAD_OPTION` for wrong options. Opening the engine throws `STORE_UNREACHABLE` or `DATABASE_UNREADABLE` if the database cannot be used.
 *
 * @example
 * const engine = await Perdure.open({
 *   store: postgres({ connectionString: "postgresql://user:password@localhost/app" }),
 *   workflows: [order],
 * })
 */
export function postgres(options: PostgresOptions): StoreProvider {
  const { connectionString, pool, schema = "perdure", partitions, maxConnections = 10, answerTimeout = "30s", listen, prepare = true } = options
  if ((typeof connectionString === "string") === (pool !== undefined) || connectionString === "")
    throw new PerdureError("BAD_OPTION", `postgres() needs a connectionString, such as "postgresql://user:password@host/database", or a pool of pg`)
  checkSchemaName(schema)
  if (!Number.isSafeInteger(maxConnections) || maxConnections < 3)
    throw new PerdureError("BAD_OPTION", `maxConnections is ${String(maxConnections)}; give a whole number of at least 3`)
  const ofPool = pool?.options?.max
  if (ofPool !== undefined && ofPool < 3)
    throw new PerdureError("BAD_OPTION", `perdure needs a pool of at least 3 connections; the max of this pool is ${ofPool}`)
  checkListen(listen)
  if (typeof prepare !== "boolean") throw new PerdureError("BAD_OPTION", `prepare is ${String(prepare)}; give true or false`)
  if (partitions !== undefined && !(Number.isSafeInteger(partitions) && partitions >= 2 && partitions <= 256))
    throw new PerdureError("BAD_OPTION", `partitions is ${String(partitions)}; give a whole number from 2 to 256`)
  const answerMs = durationMs(answerTimeout, "answerTimeout")
  const servers = connectionString === undefined ? [] : serversOf(connectionString)
  return {
    name: "postgres",
    open: async (context) => {
      const pg = await loadPg()
      const limits = { query_timeout: answerMs, connectionTimeoutMillis: Math.min(10_000, answerMs) }
      const used = pool ?? ownPool(pg, servers, { max: maxConnections, ...limits })
      const listenPool = listen ? ownPool(pg, serversOf(listen.connectionString), { max: 1, ...limits }) : listen === false ? undefined : used
      const server = pool ? serverOfPool(pool) : servers.map(({ name }) => name).join(" or ")
      return openPostgresStore({ pool: used, isGiven: pool !== undefined, listenPool, prepares: prepare, types: pg.types, schema, partitions, server, context })
    },
  }
}

function checkListen(listen: PostgresOptions["listen"]): void {
  if (listen === undefined || listen === false) return
  const { connectionString } = (listen ?? {}) as { readonly connectionString?: unknown }
  if (typeof connectionString === "string" && connectionString !== "") return
  throw new PerdureError("BAD_OPTION", `listen must be { connectionString: "postgresql://…" } with the address of the server itself, or false`)
}

export function ownPool(pg: PgModule, servers: readonly ServerAddress[], limits: Record<string, unknown>): PostgresPool {
  // With keep-alive, an idle connection also notices that its server has vanished.
  const options = { ...limits, application_name: "perdure", keepAlive: true, keepAliveInitialDelayMillis: 10_000 }
  const [first, ...others] = servers.map(({ connectionString }) => connectionString)
  if (others.length === 0) return new pg.Pool({ ...options, connectionString: first })
  return new FailoverPool([first, ...others].map((server) => new pg.Pool({ ...options, connectionString: server, onConnect: requireWritable })))
}

export async function loadPg(): Promise<PgModule> {
  try {
    const { default: pg } = (await import("pg")) as unknown as { readonly default: PgModule }
    return pg
  } catch (cause) {
    throw new PerdureError("BAD_OPTION", `the PostgreSQL store needs the package pg; install it with "npm install pg"`, { cause })
  }
}
