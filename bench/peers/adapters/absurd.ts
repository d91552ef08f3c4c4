import { readFileSync } from "node:fs"
import { setTimeout as delay } from "node:timers/promises"
import { Absurd, type TaskContext } from "absurd-sdk"
import { Pool } from "pg"
import { type OpenPeer, sleepMs, type WorkflowKind } from "../adapter.ts"
import { ring } from "../doorbell.ts"
import { versionOf } from "../installation.ts"
import { absurd, schemaVariable } from "./absurd-peer.ts"
import { freshDatabase } from "./fresh-database.ts"
import { Turns } from "./turns.ts"

const pollsMax = 4

const { settings } = absurd

const eventTo = (number: number) => `go-${number}`

type Task = (input: number, ctx: TaskContext) => Promise<number>

const tasks: Readonly<Record<WorkflowKind, Task>> = {
  async sequence(input, ctx) {
    for (let i = 0; i < input; i++) await ctx.step("step", async () => ({ i }))
    return input
  },
  async fan(input, ctx) {
    await Promise.all(Array.from({ length: input }, (_, i) => ctx.step("step", async () => ({ i }))))
    return input
  },
  async listener(input, ctx) {
    ring(input)
    return Number(await ctx.awaitEvent(eventTo(input)))
  },
  async sleeper(input, ctx) {
    ring(input)
    await ctx.sleepFor("nap", sleepMs / 1_000)
    return Date.now()
  },
}

async function resultOf(client: Absurd, taskID: string): Promise<number> {
  for (;;) {
    const snapshot = await client.fetchTaskResult(taskID)
    if (snapshot?.state === "completed") return Number(snapshot.result)
    if (snapshot?.state === "failed") throw new Error(`a task failed: ${JSON.stringify(snapshot.failure)}`)
    await delay(settings.resultPollMs)
  }
}

/** Tables of another release may be slower, or not fit at all. */
async function expectVersion(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ version: string }>("select absurd.get_schema_version() as version")
  const [given, wanted] = [rows[0]?.version, versionOf("absurd-sdk")]
  if (given !== wanted) throw new Error(`the tables of ${schemaVariable} are of release ${String(given)}, not ${wanted}`)
}

export const open: OpenPeer = async (place) => {
  const database = await freshDatabase(place)
  const pool = new Pool({ connectionString: database.url, max: settings.poolMax })
  await pool.query(readFileSync(process.env[schemaVariable] ?? "", "utf8"))
  await expectVersion(pool)
  const client = new Absurd({ db: pool, queueName: "bench" })
  await client.createQueue()
  for (const [name, run] of Object.entries(tasks)) client.registerTask<number, number>({ name }, run)
  const worker = await client.startWorker({
    concurrency: settings.concurrency,
    batchSize: settings.batchSize,
    pollInterval: settings.pollIntervalMs / 1_000,
    claimTimeout: settings.claimTimeoutSeconds,
  })
  const turns = new Turns(pollsMax)
  return {
    async start(kind, input) {
      const { taskID } = await client.spawn(kind, input)
      return { result: () => turns.take(() => resultOf(client, taskID)) }
    },
    sendEvent: (number, value) => client.emitEvent(eventTo(number), value),
    async close() {
      await worker.close()
      await pool.end()
      await database.drop()
    },
  }
}
