// A schema for a test file on the server that all of them share, and stores in it whose clock is the test's.

import { randomBytes } from "node:crypto"
import pg from "pg"
import { inject } from "vitest"
import type { StoreProvider } from "../../src/ports/store.ts"
import type { PostgresClient, PostgresPool } from "../../src/stores/postgres/pg.ts"
import { postgres } from "../../src/stores/postgres/postgres.ts"

export class TestDatabase {
  readonly url: string = inject("databaseUrl")
  readonly schema = `test_${randomBytes(6).toString("hex")}`
  readonly pool: pg.Pool
  /** Statements that were sent through clocked pools. */
  sent = 0

  constructor(connections = 10) {
    this.pool = new pg.Pool({ connectionString: this.url, max: connections })
    // A test that kills connections does so on purpose.
    this.pool.on("error", () => {})
  }

  /** An empty store on the clock of whoever opens it. */
  async emptyStore(): Promise<StoreProvider> {
    await this.empty()
    return this.store()
  }

  store(): StoreProvider {
    return {
      name: "postgres",
      open: (context) => postgres({ pool: new ClockedPool(this.pool, context.now, () => this.sent++), schema: this.schema }).open(context),
    }
  }

  async empty(): Promise<void> {
    const tables = await this.pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND tablename <> 'meta' ORDER BY tablename`,
      [this.schema],
    )
    if (tables.rows.length > 0) await this.pool.query(tables.rows.map(({ name }) => `DELETE FROM ${this.schema}.${name}`).join(";"))
  }

  async drop(): Promise<void> {
    await this.pool.query(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`)
    await this.pool.end()
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
