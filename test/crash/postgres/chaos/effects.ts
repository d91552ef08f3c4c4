// The effects of steps, in tables beside the store. They stand for the user's own database, which fails together with the store.

import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"

export interface Effect {
  readonly key: string
  readonly instance: string
  readonly step: string
  /** The nonce of the first attempt that had the effect. */
  readonly nonce: string
  /** How many attempts had the effect. */
  readonly times: number
}

const tables = `
  CREATE SCHEMA IF NOT EXISTS chaos;
  CREATE TABLE IF NOT EXISTS chaos.effect (key text PRIMARY KEY, instance text NOT NULL, step text NOT NULL, nonce text NOT NULL, times integer NOT NULL DEFAULT 1);
  CREATE TABLE IF NOT EXISTS chaos.running (instance text PRIMARY KEY, place bigint NOT NULL, is_running boolean NOT NULL);
  CREATE TABLE IF NOT EXISTS chaos.peak (most integer NOT NULL);
`

export class Effects {
  readonly #pool: pg.Pool

  constructor(connectionString: string) {
    this.#pool = new pg.Pool({ connectionString, max: 4, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
    this.#pool.on("error", ignored)
    this.#pool.on("connect", (client) => client.on("error", ignored))
  }

  async create(): Promise<void> {
    await this.#patiently((client) => client.query(tables))
  }

  /** Has an effect once for each key. Returns the nonce of the first attempt. */
  async apply(effect: Omit<Effect, "times">): Promise<string> {
    const { key, instance, step, nonce } = effect
    const { rows } = await this.#patiently((client) =>
      client.query<{ nonce: string }>(
        `INSERT INTO chaos.effect (key, instance, step, nonce) VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO UPDATE SET times = chaos.effect.times + 1 RETURNING nonce`,
        [key, instance, step, nonce],
      ),
    )
    return rows[0]!.nonce
  }

  /**
   * Counts the instances that run under a limit, and records the largest number. `place` grows with the steps of an instance and their attempts. An attempt in a
   * frozen worker does not count any more when another attempt has followed it. A killed attempt continues to count, because its instance keeps its slot.
   */
  async enter(instance: string, place: number): Promise<void> {
    await this.#patiently(async (client) => {
      await client.query("BEGIN")
      await client.query("SELECT pg_advisory_xact_lock(42)")
      await client.query(
        `INSERT INTO chaos.running VALUES ($1, $2, true) ON CONFLICT (instance) DO UPDATE SET place = $2, is_running = true WHERE chaos.running.place < $2`,
        [instance, place],
      )
      await client.query(`INSERT INTO chaos.peak SELECT count(*) FROM chaos.running WHERE is_running`)
      return client.query("COMMIT")
    })
  }

  async leave(instance: string, place: number): Promise<void> {
    await this.#patiently((client) => client.query(`UPDATE chaos.running SET is_running = false WHERE instance = $1 AND place = $2`, [instance, place]))
  }

  async all(): Promise<readonly Effect[]> {
    return (await this.#patiently((client) => client.query<Effect>(`SELECT key, instance, step, nonce, times FROM chaos.effect`))).rows
  }

  async peak(): Promise<number> {
    return (await this.#patiently((client) => client.query<{ most: number }>(`SELECT coalesce(max(most), 0) AS most FROM chaos.peak`))).rows[0]!.most
  }

  /** The journals, read from the tables without the store. */
  async journalRows(schema: string): Promise<readonly JournalSpan[]> {
    const text = `SELECT i.id, j.position, j.count FROM ${schema}.instance i JOIN ${schema}.journal j ON j.instance = i.key ORDER BY i.id, j.position`
    const { rows } = await this.#patiently((client) => client.query<{ id: string; position: string; count: number }>(text))
    return rows.map(({ id, position, count }) => ({ id, position: Number(position), count }))
  }

  /** Whether a worker has taken over an instance from a dead worker. */
  async hasRecoveries(schema: string): Promise<boolean> {
    const text = `SELECT EXISTS (SELECT 1 FROM ${schema}.journal WHERE entries LIKE '%"recovered"%') AS found`
    return (await this.#patiently((client) => client.query<{ found: boolean }>(text))).rows[0]!.found
  }

  /** The rows that flow control and leases still have. */
  async leftOver(schema: string): Promise<Readonly<Record<string, number>>> {
    const count = (from: string) => `(SELECT count(*)::int FROM ${schema}.${from})`
    const text = `SELECT ${count("slot")} AS slots, ${count("inbox")} AS messages, ${count("instance WHERE queued_for IS NOT NULL OR held > 0")} AS parked, ${count("instance WHERE owner IS NOT NULL")} AS owned`
    return (await this.#patiently((client) => client.query<Record<string, number>>(text))).rows[0]!
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** Repeats `fn` after an unknown outcome. Everything here may be executed twice. */
  async #patiently<T>(fn: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const until = performance.now() + 60_000
    for (;;) {
      try {
        const client = await this.#pool.connect()
        try {
          const result = await fn(client)
          client.release()
          return result
        } catch (error) {
          client.release(true)
          throw error
        }
      } catch (error) {
        if (performance.now() > until) throw error
        await delay(50)
      }
    }
  }
}

export interface JournalSpan {
  readonly id: string
  readonly position: number
  readonly count: number
}

/** The statement fails with the same error. */
function ignored(): void {}
