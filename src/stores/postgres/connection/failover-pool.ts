import type { PostgresClient, PostgresPool } from "./pg.ts"

type Listener = ((error: Error) => void) & ((client: PostgresClient) => void)

/**
 * One pool for each of the servers that may have the database, of which one at a time can be written to. Connections come from the one
 * that was last found; where that is gone, or takes no writes any more, the others are asked in their order.
 */
export class FailoverPool implements PostgresPool {
  readonly #pools: readonly PostgresPool[]
  #current = 0

  constructor(pools: readonly PostgresPool[]) {
    this.#pools = pools
  }

  get options(): PostgresPool["options"] {
    return this.#pools[0]?.options
  }

  async connect(): Promise<PostgresClient> {
    const first = this.#current
    const failures: unknown[] = []
    for (let turn = 0; turn < this.#pools.length; turn++) {
      const at = (first + turn) % this.#pools.length
      try {
        const client = await this.#pools[at]!.connect()
        // Another call may have found it meanwhile, and the server that this one came to may be the one that is going.
        if (turn > 0) this.#current = at
        return client
      } catch (error) {
        failures.push(error)
      }
    }
    // What the server said that was the right one so far is the most telling.
    throw failures[0]
  }

  async end(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
  }

  on(event: "error" | "connect", listener: Listener): void {
    for (const pool of this.#pools) pool.on(event as "error", listener)
  }

  off(event: "error" | "connect", listener: Listener): void {
    for (const pool of this.#pools) pool.off?.(event as "error", listener)
  }
}

/** Refuses a connection to a server that only follows another, or takes no writes for another reason. */
export async function requireWritable(client: PostgresClient): Promise<void> {
  const { rows } = await client.query("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS fixed")
  if (rows[0]?.["fixed"] === true) throw Object.assign(new Error("the server takes no writes: it is a standby, or was made read-only"), { code: "25006" })
}
