import { fan } from "../bench-workflows.ts"
import { median } from "../statistics.ts"
import { openOn } from "../target.ts"
import type { Workload } from "../workload.ts"

const steps = 100
const count = 10

export const fanOut: Workload = {
  id: "W4",
  targets: ["sqlite", "postgres"],
  title: `one instance of ${steps} parallel steps, ${count} times`,
  figures: [
    {
      key: "p50Ms",
      label: "p50",
      unit: "ms",
      goal: { of: "figure", bound: "at most", limit: 5 },
      goals: { postgres: { of: "figure", bound: "at most", limit: 10 } },
    },
  ],
  async prepare(folders, { target }) {
    return async () => {
      const engine = await openOn(target, folders.create())
      const latencies: number[] = []
      for (let i = 0; i < count; i++) {
        const startedAt = performance.now()
        const result = await (await engine.start(fan, { input: steps })).result()
        latencies.push(performance.now() - startedAt)
        if (result !== steps) throw new Error(`the result is ${String(result)}`)
      }
      await engine.close()
      return { p50Ms: median(latencies) }
    }
  },
}
