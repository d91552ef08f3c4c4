import { sequence } from "../bench-workflows.ts"
import { openEngine } from "../engine-on-disk.ts"
import { Floor } from "../floor.ts"
import { median, quantile } from "../statistics.ts"
import type { Folders, Workload } from "../workload.ts"

const count = 100

/** Milliseconds of each start-to-result, one at a time. */
async function runLatencies(folder: string): Promise<readonly number[]> {
  const engine = await openEngine(folder)
  const latencies: number[] = []
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now()
    const handle = await engine.start(sequence, { input: 1 })
    const result = await handle.result()
    latencies.push(performance.now() - startedAt)
    if (result !== 1) throw new Error(`the result is ${String(result)}`)
  }
  await engine.close()
  return latencies
}

export const latency: Workload = {
  id: "W2",
  title: `start an instance of one step and await its result, ${count} times`,
  figures: [
    {
      key: "p50Ms",
      label: "p50 in raw commits",
      unit: "ms",
      floor: { key: "rawCommitMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 4 },
    },
    { key: "p99Ms", label: "p99", unit: "ms" },
  ],
  async prepare(folders: Folders) {
    const captured = folders.create()
    await runLatencies(captured)
    const floor = await Floor.capture(folders, captured)
    return async () => {
      const latencies = await runLatencies(folders.create())
      const raw = floor.single(floor.journalRows)
      return { p50Ms: median(latencies), p99Ms: quantile(latencies, 0.99), rawCommitMs: median(raw) }
    }
  },
}
