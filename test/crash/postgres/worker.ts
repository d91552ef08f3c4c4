// One worker on a PostgreSQL database, which runs until it gets a signal. It reports each call of a step's function.

import { setTimeout } from "node:timers/promises"
import { silentLogger } from "../../../src/hosts/silent-logger.ts"
import { type Context, Perdure, workflow } from "../../../src/index.ts"
import { postgres } from "../../../src/postgres.ts"
import type { ClusterCommand, ClusterReport, ClusterWorkerOptions } from "./cluster-process.ts"

const { url, schema, lease, stepMs, answerTimeout = "30s", drain = "10s", isPaused = false } = JSON.parse(process.argv[2] ?? "{}") as ClusterWorkerOptions
const report = (message: ClusterReport) => process.send?.(message)

async function counted(ctx: Context, steps: number): Promise<readonly number[]> {
  const results: number[] = []
  for (let n = 0; n < steps; n++) {
    results.push(
      await ctx.do(`step ${n}`, async () => {
        report({ type: "step", instance: ctx.instance.id, step: n })
        await setTimeout(stepMs)
        return n
      }),
    )
  }
  return results
}

const workflows = [
  workflow("count", counted),
  workflow("limited", { concurrency: 2 }, counted),
  /** The step takes a minute, or no time if `stepMs` is 0. */
  workflow("held", async (ctx) =>
    ctx.do("hold", async ({ signal }) => {
      report({ type: "step", instance: ctx.instance.id, step: 0 })
      if (stepMs === 0) return "done"
      await setTimeout(60_000, undefined, { signal }).catch(() => report({ type: "aborted", instance: ctx.instance.id }))
      return "done too late"
    }),
  ),
  workflow("echo", async (ctx) => {
    const words = [await ctx.waitForEvent("word")]
    // A message that was delivered twice would have arrived by then.
    await ctx.sleep("a moment", "200ms")
    const more = await ctx.waitForEvent("another word", { type: "word", timeout: 1, default: undefined })
    return more === undefined ? words : [...words, more]
  }),
]

if (isPaused) {
  report({ type: "ready" })
  await new Promise((resolve) => process.once("message", resolve))
}
const engine = await Perdure.open({
  store: postgres({ connectionString: url, schema, answerTimeout }),
  workflows,
  lease,
  drain,
  log: silentLogger,
})
report({ type: "ready" })
process.on("message", ({ wanted }: ClusterCommand) => {
  for (const instance of wanted)
    void engine
      .get(instance)
      .result()
      .then(() => report({ type: "answered", instance }))
})
process.on("disconnect", () => process.exit(1))
process.once("SIGTERM", () => void engine.close().finally(() => process.exit(0)))
