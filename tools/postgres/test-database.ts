// A schema for a test file on the server that all of them share, and stores in it whose clock is the test's.

import { randomBytes } from "node:crypto"
import pg from "pg"
import { inject } from "vitest"
import type { StoreProvider } from "../../src/ports/store.ts"
import type { PostgresClient, PostgresPool } from "../../src/stores/postgres/pg.ts"
import { postgres } from "../../src/stores/postgres/postgres.ts"

export class TestDatabase {
  readonly url: string
  readonly pool: pg.Pool
  /** Statements that were sent by its stores. */
  sent = 0
  readonly #name = `test_${randomBytes(6).toString("hex")}`
  readonly #schemas = new Set<string>()
  #used = 0

  /** Default: on the server that all test files share. */
  constructor(connections = 60, url = inject("databaseUrl")) {
    this.url = url
    this.pool = new pg.Pool({ connectionString: this.url, max: connections })
    // A test that kills connections does so on purpose.
    this.pool.on("error", () => {})
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
    return postgres({ connectionString: this.url, schema, maxConnections })
  }

  newSchema(): string {
    const schema = `${this.#name}_${++this.#used}`
    this.#schemas.add(schema)
    return schema
  }

  store(schema: string): StoreProvider {
    return {
      name: "postgres",
      open: (context) => postgres({ pool: new ClockedPool(this.pool, context.now, () => this.sent++), schema }).open(context),
    }
  }

  /** The test is over, and its stores are closed: their schemas may be used again, which costs less than to make others. */
  reset(): void {
    this.#used = 0
  }

  async drop(): Promise<void> {
    for (const schema of this.#schemas) await this.pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await this.pool.end()
  }

  async #empty(schema: string): Promise<void> {
    const tables = await this.pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename NOT IN ('meta', 'origin')`,
      [schema],
    )
    if (tables.rows.length > 0) await this.pool.query(tables.rows.map(({ name }) => `DELETE FROM ${schema}.${name}`).join(";"))
  }
}

/** What each connection knows of the time. */
const told = new WeakMap<object, number>()

/** A pool whose connections are told the time before each statement: to the store it is the server's. */
class ClockedPool implements PostgresPool {
  readonly #pool: pg.Pool
  readonly #now: () => number
  readonly #onSend: () => void

  constructor(pool: pg.Pool, now: () => number, onSend: () => void) {
    this.#pool = pool
    this.#now = now
    this.#onSend = onSend
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect()
    const tell = () => {
      const now = this.#now()
      if (told.get(client) === now) return
      told.set(client, now)
      // Statements of one connection are worked off in their order.
      client.query(`SET perdure.now_ms = '${now}'`).catch(() => {})
    }
    const query = (...args: unknown[]) => {
      tell()
      this.#onSend()
      return (client.query as (...given: unknown[]) => Promise<unknown>)(...args)
    }
    const clocked: unknown = { query, release: (error?: Error | boolean) => client.release(error), on: client.on.bind(client), off: client.off.bind(client) }
    return clocked as PostgresClient
  }

  async end(): Promise<void> {}

  on(): void {}
}
