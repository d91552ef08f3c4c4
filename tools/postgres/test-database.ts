// A schema for a test file on the server that it shares with others, and stores in it whose clock is the test's.

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
  /** The same, or through the pooler, if there is one: for what callers do in transactions. */
  readonly callers: pg.Pool
  /** Statements that were sent by its stores. */
  sent = 0
  readonly #name = `test_${randomBytes(6).toString("hex")}`
  readonly #schemas = new Set<string>()
  #used = 0

  readonly #partitions: number | undefined

  /** Default: on the server of the test file. `partitions`: of the tables of its stores. */
  constructor(connections = 60, url = fileServerUrl(), partitions?: number) {
    this.url = url
    this.#poolerUrl = url === fileServerUrl() ? inject("poolerUrl") : undefined
    this.#partitions = partitions
    this.pool = new pg.Pool({ connectionString: this.url, max: connections, application_name: this.#name })
    // A test that kills connections does so on purpose.
    this.pool.on("error", () => {})
    this.callers = this.#poolerUrl === undefined ? this.pool : new pg.Pool({ connectionString: this.#poolerUrl, max: connections })
    this.callers.on("error", () => {})
  }

  /** How a store of the test gets to the database. */
  get options(): Pick<PostgresOptions, "connectionString" | "prepare" | "listen"> {
    if (this.#poolerUrl === undefined) return { connectionString: this.url }
    return { connectionString: this.#poolerUrl, prepare: false, listen: { connectionString: this.url } }
  }

  /** An empty store on the clock of whoever opens it: in a schema that none of the stores since the last `reset` has. */
  async emptyStore(): Promise<StoreProvider> {
    return this.store(await this.emptySchema())
  }

  async emptySchema(): Promise<string> {
    const schema = this.newSchema()
    await this.#empty(schema)
    return schema
  }

  /** A store with connections of its own and the server's clock, as a process of its own would open it. */
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

  /** The test is over, and its stores are closed: their schemas may be used again, which costs less than to make others. */
  reset(): void {
    this.#used = 0
  }

  /** Engines that a test killed do not give their connections back: they are ended, and not waited for. */
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
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('meta', 'origin', 'mail_channel', 'function_set', 'test_clock')`,
      [schema],
    )
    if (tables.rows.length > 0) await this.pool.query(tables.rows.map(({ name }) => `DELETE FROM ${schema}.${name}`).join(";"))
  }
}

interface Clock {
  /** Before a statement is sent. */
  tell(client: pg.PoolClient): Promise<void> | undefined
}

/** What each connection knows of the time. */
const told = new WeakMap<object, number>()

/** Each connection is told the time: to the store it is the server's. */
class SessionClock implements Clock {
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  tell(client: pg.PoolClient): undefined {
    const now = this.#now()
    if (told.get(client) === now) return
    told.set(client, now)
    // Statements of one connection are worked off in their order.
    client.query(`SET perdure.now_ms = '${now}'`).catch(() => {})
  }
}

/** Behind a pooler nobody knows which connection is to be told: the time is in a table. */
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

  /** In a schema that may not be there yet. */
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
