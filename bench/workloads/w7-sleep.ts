import { sleeper } from "../bench-workflows.ts"
import { median, quantile } from "../statistics.ts"
import { openOn } from "../target.ts"
import type { Workload } from "../workload.ts"

const count = 100
const sleepMs = 1_000

export const sleep: Workload = {
  id: "W7",
  targets: ["sqlite", "postgres"],
  title: `${count} instances that each sleep ${sleepMs} ms: how late they wake up`,
  figures: [
    {
      key: "p99Ms",
      label: "p99 of the lateness",
      unit: "ms",
      goal: { of: "figure", bound: "at most", limit: 15 },
      goals: { postgres: { of: "figure", bound: "at most", limit: 50 } },
    },
    { key: "p50Ms", label: "p50 of the lateness", unit: "ms" },
  ],
  async prepare(folders, { target }) {
    return async () => {
      const engine = await openOn(target, folders.create())
      const late = await Promise.all(
        Array.from({ length: count }, async () => {
          const handle = await engine.start(sleeper, { input: sleepMs })
          const wokenAt = await handle.result()
          const [nap] = await handle.steps()
          if (nap?.wakeAt === undefined) throw new Error("the sleep does not say when it was to end")
          if (wokenAt < nap.wakeAt) throw new Error(`a sleep ended ${nap.wakeAt - wokenAt} ms early`)
          return wokenAt - nap.wakeAt
        }),
      )
      await engine.close()
      // The clock has whole milliseconds; on average half of one more has passed.
      return { p99Ms: quantile(late, 0.99) + 0.5, p50Ms: median(late) + 0.5 }
    }
  },
}
