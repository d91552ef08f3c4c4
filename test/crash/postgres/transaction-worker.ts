// A worker whose transactions kill their process: between what the user writes and the commit, and between the commit and its answer.

import pg from "pg"
import { silentLogger } from "../../../src/hosts/silent-logger.ts"
import { Perdure, workflow } from "../../../src/index.ts"
import { postgres } from "../../../src/postgres.ts"

export interface TransactionWorkerOptions {
  readonly url: string
  readonly schema: string
  /** The moments at which some of its transactions kill the process. */
  readonly deadly: Place | undefined
}

export type Place = "within" | "after"

const { url, schema, deadly } = JSON.parse(process.argv[2] ?? "{}") as TransactionWorkerOptions

/** Tells the test where the process dies. The message is sent before the signal. */
async function mayDie(place: Place): Promise<void> {
  if (place !== deadly || Math.random() < 0.8) return
  await new Promise<never>(() => process.send?.(place, () => process.kill(process.pid, "SIGKILL")))
}

const pool = new pg.Pool({ connectionString: url, max: 8 })
pool.on("connect", (client) => {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  const watched = async (...args: unknown[]) => {
    const answer = await query(...args)
    // The server has committed, and this process does not know it.
    if (args[0] === "COMMIT") await mayDie("after")
    return answer
  }
  Object.assign(client, { query: watched })
})

const ledgered = workflow("ledgered", async (ctx, rounds: number) => {
  const nonces: string[] = []
  for (let round = 0; round < rounds; round++) {
    nonces.push(
      await ctx.transaction(
        `round ${round}`,
        async (client: pg.PoolClient, { idempotencyKey }) => {
          const nonce = `${process.pid}-${Math.random()}`
          await client.query(`INSERT INTO ${schema}_own.effect VALUES ($1, $2, $3)`, [ctx.instance.id, idempotencyKey, nonce])
          await client.query(`UPDATE ${schema}_own.total SET sum = sum + 1`)
          await mayDie("within")
          if (Math.random() < 0.1) throw new Error("not this time")
          return nonce
        },
        { retry: { maxAttempts: 1_000, initialInterval: 1, backoff: "fixed" } },
      ),
    )
  }
  return nonces
})

const engine = await Perdure.open({ store: postgres({ pool, schema }), workflows: [ledgered], lease: "500ms", maxRecoveries: 10_000, log: silentLogger })
process.on("disconnect", () => process.exit(1))
process.once("SIGTERM", () => void engine.close().then(() => process.exit(0)))
