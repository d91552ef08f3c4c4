import type { PostgresClient, PostgresPool } from "./pg.ts"

type Listener = ((error: Error) => void) & ((client: PostgresClient) => void)

/**
 * One pool for each server that may have the database; one server at a time accepts writes. Connections come from the server that last accepted them. If that
 * server is gone or refuses writes, the other servers are tried in their order.
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
        // Only a call that had to try further changes the current server: another call may have found the right server meanwhile.
        if (turn > 0) this.#current = at
        return client
      } catch (error) {
        failures.push(error)
      }
    }
    // The error of the server that accepted connections so far says the most.
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

/** Refuses a connection to a standby, or to a server that refuses writes for another reason. */
export async function requireWritable(client: PostgresClient): Promise<void> {
  const { rows } = await client.query("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS fixed")
  if (rows[0]?.["fixed"] === true) throw Object.assign(new Error("the server takes no writes: it is a standby, or was made read-only"), { code: "25006" })
}
