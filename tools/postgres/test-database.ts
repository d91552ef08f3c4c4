// Schemas for a test file on a shared server, and stores in them that use the clock of the test.

import { randomBytes } from "node:crypto"
import pg from "pg"
import { inject } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { StoreProvider } from "../../src/ports/store.ts"
import type { PostgresClient, PostgresPool } from "../../src/stores/postgres/connection/pg.ts"
import { quotedSchema } from "../../src/stores/postgres/connection/schema-name.ts"
import { functionSetOf } from "../../src/stores/postgres/schema/function-set.ts"
import { postgres, type PostgresOptions } from "../../src/stores/postgres/postgres-provider.ts"
import { fileServerUrl } from "./file-server.ts"

export class TestDatabase {
  readonly url: string
  readonly #poolerUrl: string | undefined
  readonly pool: pg.Pool
  /** The pool for transactions of callers: through the pooler if there is one, else `pool`. */
  readonly callers: pg.Pool
  /** How many statements the stores have sent. */
  sent = 0
  readonly #name = `test_${randomBytes(6).toString("hex")}`
  readonly #schemas = new Set<string>()
  #used = 0

  readonly #partitions: number | undefined

  /** `url`: the server of the test file by default. `partitions`: how many partitions the tables of the stores have. */
  constructor(connections = 60, url = fileServerUrl(), partitions?: number) {
    this.url = url
    this.#poolerUrl = url === fileServerUrl() ? inject("poolerUrl") : undefined
    this.#partitions = partitions
    this.pool = new pg.Pool({ connectionString: this.url, max: connections, application_name: this.#name })
    // Errors of idle connections are expected, because tests kill connections.
    this.pool.on("error", () => {})
    this.callers = this.#poolerUrl === undefined ? this.pool : new pg.Pool({ connectionString: this.#poolerUrl, max: connections })
    this.callers.on("error", () => {})
  }

  /** Options with which a store of the test reaches the database. */
  get options(): Pick<PostgresOptions, "connectionString" | "prepare" | "listen"> {
    if (this.#poolerUrl === undefined) return { connectionString: this.url }
    return { connectionString: this.#poolerUrl, prepare: false, listen: { connectionString: this.url } }
  }

  /** An empty store that uses the clock of the engine which opens it. No other store since the last `reset` has the schema. */
  async emptyStore(): Promise<StoreProvider> {
    return this.store(await this.emptySchema())
  }

  async emptySchema(): Promise<string> {
    const schema = this.newSchema()
    await this.#empty(schema)
    return schema
  }

  /** A store with its own connections and the server's clock, as another process would open it. */
  ownStore(schema: string, maxConnections = 4): StoreProvider {
    return postgres({ ...this.options, schema, maxConnections })
  }

  newSchema(): string {
    const schema = `${this.#name}_${++this.#used}`
    this.#schemas.add(schema)
    return schema
  }

  store(schema: string): StoreProvider {
    const partitions = this.#partitions === undefined ? {} : { partitions: this.#partitions }
    const onSend = () => this.sent++
    return {
      name: "postgres",
      open: async (context) => {
        if (this.#poolerUrl === undefined)
          return postgres({ pool: new ClockedPool(this.pool, new SessionClock(context.now), onSend), schema, ...partitions }).open(context)
        const clock = new TableClock(this.pool, schema, context.now)
        await clock.install()
        const pool = new ClockedPool(this.callers, clock, onSend)
        return postgres({ pool, schema, ...partitions, prepare: false, listen: { connectionString: this.url } }).open(context)
      },
    }
  }

  /** The test has ended, and its stores are closed. Further tests use its schemas again, because creating schemas takes long. */
  reset(): void {
    this.#used = 0
  }

  /** Terminates the connections and drops the schemas. Engines that a test has killed never release their connections. */
  async drop(): Promise<void> {
    const client = new pg.Client({ connectionString: this.url })
    await client.connect()
    await client.query(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1`, [this.#name])
    for (const schema of this.#schemas) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
    if (this.callers !== this.pool) await this.callers.end()
    void this.pool.end()
  }

  async #empty(schema: string): Promise<void> {
    const tables = await this.pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('meta', 'origin', 'push_channel', 'function_set', 'test_clock')`,
      [schema],
    )
    if (tables.rows.length > 0) await this.pool.query(tables.rows.map(({ name }) => `DELETE FROM ${schema}.${name}`).join(";"))
  }
}

interface Clock {
  /** Called before a statement is sent. */
  tell(client: pg.PoolClient): Promise<void> | undefined
}

/** The time that each connection was told last. */
const told = new WeakMap<object, number>()

/** Sets the time in each connection. The store takes it for the server's time. */
class SessionClock implements Clock {
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  tell(client: pg.PoolClient): undefined {
    const now = this.#now()
    if (told.get(client) === now) return
    told.set(client, now)
    // The server executes the statements of one connection in their order.
    client.query(`SET perdure.now_ms = '${now}'`).catch(() => {})
  }
}

/** Keeps the time in a table. Behind a pooler, a statement may go over any connection, so a setting of one connection does not help. */
class TableClock implements Clock {
  readonly #pool: pg.Pool
  readonly #schema: string
  readonly #now: () => number
  #told: number | undefined
  #telling: Promise<void> | undefined

  constructor(pool: pg.Pool, schema: string, now: () => number) {
    this.#pool = pool
    this.#schema = schema
    this.#now = now
  }

  /** Installs the clock. The schema may not exist yet. */
  async install(): Promise<void> {
    const context = { now: () => Date.now(), log: silentLogger, role: "client" as const }
    await (await postgres({ pool: this.#pool, schema: this.#schema, listen: false }).open(context)).close()
    await this.#pool.query(`CREATE TABLE IF NOT EXISTS ${this.#schema}.test_clock (now bigint NOT NULL)`)
    await this.#pool.query(`INSERT INTO ${this.#schema}.test_clock SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM ${this.#schema}.test_clock)`)
    await this.#pool.query(
      `CREATE OR REPLACE FUNCTION ${functionSetOf(quotedSchema(this.#schema)).names.nowMs}() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT now FROM ${this.#schema}.test_clock $$`,
    )
  }

  tell(): Promise<void> | undefined {
    const now = this.#now()
    if (this.#told !== now) {
      this.#told = now
      const before = this.#telling
      this.#telling = (async () => {
        await before
        await this.#pool.query(`UPDATE ${this.#schema}.test_clock SET now = $1`, [now])
      })()
    }
    return this.#telling
  }
}

class ClockedPool implements PostgresPool {
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #onSend: () => void

  constructor(pool: pg.Pool, clock: Clock, onSend: () => void) {
    this.#pool = pool
    this.#clock = clock
    this.#onSend = onSend
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect()
    const send = (args: unknown[]) => (client.query as (...given: unknown[]) => Promise<unknown>)(...args)
    const query = (...args: unknown[]) => {
      const telling = this.#clock.tell(client)
      this.#onSend()
      return telling === undefined ? send(args) : telling.then(() => send(args))
    }
    const clocked: unknown = { query, release: (error?: Error | boolean) => client.release(error), on: client.on.bind(client), off: client.off.bind(client) }
    return clocked as PostgresClient
  }

  async end(): Promise<void> {}

  on(): void {}
}
