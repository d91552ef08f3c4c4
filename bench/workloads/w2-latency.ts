import type { Engine } from "perdure"
import { sequence } from "../bench-workflows.ts"
import { median, quantile } from "../statistics.ts"
import { floorOn, openOn } from "../target.ts"
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
  targets: ["sqlite", "postgres"],
  title: `start an instance of one step and await its result, ${count} times`,
  figures: [
    {
      key: "p50Ms",
      label: "p50 in raw commits",
      unit: "ms",
      floor: { key: "rawCommitMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 4 },
      // There it is compared with another engine on the same server: `--peers`.
      goals: { postgres: undefined },
    },
    { key: "p99Ms", label: "p99", unit: "ms" },
  ],
  async prepare(folders, { target }) {
    const captured = folders.create()
    const capturing = await openOn(target, captured)
    await runLatencies(capturing, count)
    await capturing.close()
    const floor = await floorOn(target, folders, captured)
    return async () => {
      await using raw = await floor.rawCommits()
      await using engine = await openOn(target, folders.create())
      const latencies: number[] = []
      const rawTimes: number[] = []
      while (latencies.length < count) {
        latencies.push(...(await runLatencies(engine, turn)))
        rawTimes.push(...(await raw.take(turn)))
      }
      return { p50Ms: median(latencies), p99Ms: quantile(latencies, 0.99), rawCommitMs: median(rawTimes) }
    }
  },
}
