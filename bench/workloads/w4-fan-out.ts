import { fan } from "../bench-workflows.ts"
import { openEngine } from "../engine-on-disk.ts"
import { median } from "../statistics.ts"
import type { Workload } from "../workload.ts"

const steps = 100
const count = 10

export const fanOut: Workload = {
  id: "W4",
  title: `one instance of ${steps} parallel steps, ${count} times`,
  figures: [{ key: "p50Ms", label: "p50", unit: "ms", goal: { of: "figure", bound: "at most", limit: 5 } }],
  async prepare(folders) {
    return async () => {
      const engine = await openEngine(folders.create())
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
