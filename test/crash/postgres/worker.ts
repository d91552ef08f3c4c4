// One worker on a PostgreSQL database, until it is told to end. It reports each call of a step's function.

import { Perdure, workflow } from "../../../src/index.ts"
import { postgres } from "../../../src/postgres.ts"
import type { ClusterReport, ClusterWorkerOptions } from "./cluster-process.ts"

const { url, schema, lease, stepMs } = JSON.parse(process.argv[2] ?? "{}") as ClusterWorkerOptions
const report = (message: ClusterReport) => process.send?.(message)

const count = workflow("count", async (ctx, steps: number) => {
  const results: number[] = []
  for (let n = 0; n < steps; n++) {
    results.push(
      await ctx.do(`step ${n}`, async () => {
        report({ type: "step", instance: ctx.instance.id, step: n })
        await new Promise((resolve) => setTimeout(resolve, stepMs))
        return n
      }),
    )
  }
  return results
})

const engine = await Perdure.open({
  store: postgres({ connectionString: url, schema }),
  workflows: [count],
  lease,
  log: { debug() {}, info() {}, warn() {}, error() {} },
})
report({ type: "ready" })
process.on("disconnect", () => process.exit(1))
process.once("SIGTERM", () => void engine.close().then(() => process.exit(0)))
