// A pool that delays the commit of a write to journals: its transaction stays open while later transactions commit.

import type pg from "pg"
import { Deferred } from "../../src/core/execution/deferred.ts"
import type { PostgresClient, PostgresPool } from "../../src/stores/postgres/connection/pg.ts"

export class HoldingPool implements PostgresPool {
  readonly #pool: pg.Pool
  #hold: Hold | undefined

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** The next write is executed, and committed only when the hold is released. */
  holdNext(): Hold {
    this.#hold = new Hold()
    return this.#hold
  }

  async connect(): Promise<PostgresClient> {
    const client = await this.#pool.connect()
    const send = (...args: unknown[]) => (client.query as (...given: unknown[]) => Promise<unknown>)(...args)
    const query = async (...args: unknown[]) => {
      const text = typeof args[0] === "string" ? args[0] : (args[0] as { text: string }).text
      const hold = /\.(?:write_\w+|\w+_single_turn_\w+)\b/.test(text) ? this.#hold : undefined
      if (hold === undefined) return send(...args)
      this.#hold = undefined
      await send("BEGIN")
      const result = await send(...args)
      await hold.reach()
      await send("COMMIT")
      return result
    }
    const holding: unknown = { query, release: (error?: Error | boolean) => client.release(error), on: client.on.bind(client), off: client.off.bind(client) }
    return holding as PostgresClient
  }

  async end(): Promise<void> {}

  on(): void {}
}

class Hold {
  readonly #written = new Deferred()
  readonly #free = new Deferred()

  /** Resolves when the transaction has written and is still open. */
  get written(): Promise<unknown> {
    return this.#written.promise
  }

  release(): void {
    this.#free.resolve(undefined)
  }

  reach(): Promise<unknown> {
    this.#written.resolve(undefined)
    return this.#free.promise
  }
}
