// A process that runs activities or workflows, on a PostgreSQL database or a SQLite file. It reports each call of an activity.

import { setTimeout } from "node:timers/promises"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { type Context, defineActivity, Perdure, workflow } from "../../src/index.ts"
import { postgres } from "../../src/postgres.ts"
import { sqlite } from "../../src/sqlite.ts"
import type { ActivityProcessOptions, ActivityReport } from "./activity-process.ts"

const { store, lease, runs, workMs } = JSON.parse(process.argv[2] ?? "{}") as ActivityProcessOptions
const report = (message: ActivityReport) => process.send?.(message)

const work = defineActivity("work", async (part: number, { attempt, instance, heartbeat, lastHeartbeat, signal }) => {
  report({ type: "call", instance, attempt, lastHeartbeat })
  signal.addEventListener("abort", () => report({ type: "aborted", instance, attempt, code: (signal.reason as { code: string }).code }))
  for (let passedMs = 0; passedMs < workMs; passedMs += 50) {
    heartbeat({ by: attempt, passedMs })
    // The engine may not notice for a while that the claim is gone, and this attempt goes on meanwhile.
    await setTimeout(50)
  }
  return { part, attempt }
})

const job = workflow("job", (ctx: Context, parts: number) =>
  Promise.all(Array.from({ length: parts }, (_, part) => ctx.activity("work", { input: part, taskQueue: "far", heartbeatTimeout: "1s" }))),
)

const engine = await Perdure.open({
  store: "path" in store ? sqlite(store.path) : postgres({ connectionString: store.url, schema: store.schema }),
  workflows: runs === "workflows" ? [job] : [],
  ...(runs === "activities" ? { activities: [work], taskQueues: ["far"], role: "client" } : {}),
  lease,
  log: silentLogger,
})
report({ type: "ready" })
process.on("disconnect", () => process.exit(1))
process.once("SIGTERM", () => void engine.close().finally(() => process.exit(0)))
