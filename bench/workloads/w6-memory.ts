import { residentSet } from "../resident-set.ts"
import { openOn } from "../target.ts"
import type { Workload } from "../workload.ts"
import { runThroughput } from "./w1-throughput.ts"

export const memory: Workload = {
  id: "W6",
  targets: ["sqlite", "postgres"],
  title: "memory of the process after W1, the engine open",
  processPerRound: true,
  figures: [
    { key: "residentMb", label: "resident set", unit: "MB", goal: { of: "figure", bound: "at most", limit: 130 } },
    { key: "neededMb", label: "the same without what V8 holds in reserve", unit: "MB" },
  ],
  async prepare(folders, { target }) {
    return async () => {
      const engine = await openOn(target, folders.create())
      // Twice, as W1 warms up as well.
      await runThroughput(engine)
      await runThroughput(engine)
      const memory = residentSet()
      await engine.close()
      return { ...memory }
    }
  },
}
