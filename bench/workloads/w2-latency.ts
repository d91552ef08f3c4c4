import type { Engine } from "perdure"
import { sequence } from "../bench-workflows.ts"
import { openEngine } from "../engine-on-disk.ts"
import { Floor } from "../floor.ts"
import { median, quantile } from "../statistics.ts"
import type { Workload } from "../workload.ts"

const count = 100
/** Engine and floor take turns after so many. */
const turn = 10

/** Milliseconds of each start-to-result, one at a time. */
async function runLatencies(engine: Engine, times: number): Promise<readonly number[]> {
  const latencies: number[] = []
  for (let i = 0; i < times; i++) {
    const startedAt = performance.now()
    const handle = await engine.start(sequence, { input: 1 })
    const result = await handle.result()
    latencies.push(performance.now() - startedAt)
    if (result !== 1) throw new Error(`the result is ${String(result)}`)
  }
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
  async prepare(folders) {
    const captured = folders.create()
    const capturing = await openEngine(captured)
    await runLatencies(capturing, count)
    await capturing.close()
    const floor = await Floor.capture(folders, captured)
    return async () => {
      using raw = floor.rawCommits()
      await using engine = await openEngine(folders.create())
      const latencies: number[] = []
      const rawTimes: number[] = []
      while (latencies.length < count) {
        latencies.push(...(await runLatencies(engine, turn)))
        rawTimes.push(...raw.take(turn))
      }
      return { p50Ms: median(latencies), p99Ms: quantile(latencies, 0.99), rawCommitMs: median(rawTimes) }
    }
  },
}
